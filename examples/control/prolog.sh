#!/bin/sh
# PrologSlurmctld: the job starts when its circuits are set and verified, or after LIMIT seconds on
# the packet-switched default. Never fails a job. See docs/circuit-control.md.
PLANT=${ODONATA_PLANT:-/etc/slurm/circuits/plant.toml}
ODONATA=${ODONATA:-/opt/odonata/bin/odonata}
LIMIT=${ODONATA_LIMIT:-20}

said=$(timeout --kill-after=2 "$LIMIT" "$ODONATA" control set "$PLANT" \
    --job "$SLURM_JOB_ID" --hosts "$SLURM_JOB_NODELIST" --wait "$LIMIT" 2>&1)
code=$?
if [ "$code" -ne 0 ]; then
    logger -t odonata-control "job $SLURM_JOB_ID starts without circuits (code $code): $said" || true
fi
exit 0
