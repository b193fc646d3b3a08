#!/bin/sh
# Gives held jobs back to Slurm where nobody places them any more. For cron or a systemd timer:
#
#   * * * * * release-held-jobs.sh HEARTBEAT [SECONDS]
#
# HEARTBEAT is the file that `odonata cluster place --heartbeat` renews; where it is missing or
# older than SECONDS (120), every waiting job that bears the mark loses the nodes that were chosen
# for it and is released. Needs nothing of Odonata, only squeue, scontrol and rights to release.
set -u
export LC_ALL=C
heartbeat=${1:?usage: release-held-jobs.sh HEARTBEAT [SECONDS]}
seconds=${2:-120}
mark=odonata-place

case $seconds in
*[!0-9]* | '')
    echo "release-held-jobs.sh: found $seconds; allowed: whole seconds" >&2
    exit 2
    ;;
esac

beat=0
if [ -r "$heartbeat" ]; then
    read -r beat <"$heartbeat" || :
fi
case $beat in
*[!0-9]* | '') beat=0 ;;
esac
age=$(($(date +%s) - beat))
# A clock that was set back makes heartbeats of the future: they prove nothing.
if [ "$age" -ge "-$seconds" ] && [ "$age" -le "$seconds" ]; then
    exit 0
fi

# No free text but as much of comments as the mark is long: nothing that users write can pass for
# a whole line with the mark in it.
waiting=$(squeue --noheader --states=PENDING --format="%A|%Q|%n|%.${#mark}k") || {
    echo "release-held-jobs.sh: squeue failed" >&2
    exit 1
}
# In order of submission: of equal jobs Slurm ranks first whom it releases first.
commands=$(
    printf '%s\n' "$waiting" | sort -t '|' -k 1,1n | while IFS='|' read -r job priority nodes comment; do
        case $job in
        *[!0-9]* | '') continue ;;
        esac
        [ "$comment" = "$mark" ] || continue
        if [ "$priority" = 0 ] || [ -n "$nodes" ]; then
            [ -z "$nodes" ] || echo "update jobid=$job ReqNodeList="
            [ "$priority" != 0 ] || echo "release $job"
        fi
    done
)
[ -n "$commands" ] || exit 0
printf '%s\n' "$commands" | scontrol >/dev/null
if command -v logger >/dev/null 2>&1; then
    logger -t odonata "placement is silent for $age s: held jobs were released to Slurm" || :
fi
exit 0
