#!/bin/sh
# EpilogSlurmctld: the job's circuits are nobody's. What cannot be done now the next command does.
PLANT=${ODONATA_PLANT:-/etc/slurm/circuits/plant.toml}
ODONATA=${ODONATA:-/opt/odonata/bin/odonata}
LIMIT=${ODONATA_LIMIT:-20}

said=$(timeout --kill-after=2 "$LIMIT" "$ODONATA" control give-back "$PLANT" "$SLURM_JOB_ID" \
    --wait "$LIMIT" 2>&1)
code=$?
if [ "$code" -ne 0 ]; then
    logger -t odonata-control "job $SLURM_JOB_ID: circuits not given back (code $code): $said" || true
fi
exit 0
