#!/bin/sh
# Gives waiting jobs back to Slurm where nobody places them any more. For cron or a systemd timer:
#
#   * * * * * leave-waiting-jobs.sh HEARTBEAT [SECONDS]
#
# HEARTBEAT is the file that `odonata cluster place --heartbeat` renews; where it is missing or
# older than SECONDS (120), every job that waits to be placed may begin, and waiting jobs that bear
# the mark lose the nodes that were chosen for them. Whom somebody holds stays held. Needs nothing
# of Odonata, only squeue, scontrol and rights to update jobs.
set -u
export LC_ALL=C
heartbeat=${1:?usage: leave-waiting-jobs.sh HEARTBEAT [SECONDS]}
seconds=${2:-120}
mark=odonata-place
until_placed=4136000000

case $seconds in
*[!0-9]* | '')
    echo "leave-waiting-jobs.sh: found $seconds; allowed: whole seconds" >&2
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

ask() {
    SLURM_TIME_FORMAT=%s squeue --noheader --states=PENDING --format="$1" || {
        echo "leave-waiting-jobs.sh: squeue failed" >&2
        exit 1
    }
}

# No text of users but as much of comments as the mark is long, and that apart: nothing that they
# write can pass for a line of another job.
waiting=$(ask "%A|%S|.") || exit 1
marked=$(ask "%A|%S|%n|%.${#mark}k") || exit 1
commands=$(
    # Of an array, nodes of single tasks are not told.
    printf '%s\n' "$marked" | while IFS='|' read -r job begin nodes comment; do
        case $job in
        *[!0-9]* | '') continue ;;
        esac
        [ "$comment" = "$mark" ] || continue
        [ "$begin" != "$until_placed" ] && [ -z "$nodes" ] || echo "update jobid=$job ReqNodeList="
    done
    printf '%s\n' "$waiting" | while IFS='|' read -r job begin end; do
        case $job in
        *[!0-9]* | '') continue ;;
        esac
        [ "$begin|$end" != "$until_placed|." ] || echo "update jobid=$job StartTime=now"
    done
)
[ -n "$commands" ] || exit 0
printf '%s\n' "$commands" | scontrol >/dev/null
if command -v logger >/dev/null 2>&1; then
    logger -t odonata "placement is silent for $age s: waiting jobs were left to Slurm" || :
fi
exit 0
