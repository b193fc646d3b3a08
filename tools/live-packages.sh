#!/bin/sh
# Installs the Debian packages that the tests with real components (live/tests/real, test_report.py,
# test_completion.py) need.
# Where it cannot (no apt-get, no rights) it says so; those tests then skip by name.
# No package starts a daemon: the tests start their own and end them.
set -eu

packages=""
# Slurm: its controller, node daemon, commands and plugins; MUNGE for authentication.
packages="$packages munge slurmctld slurmd slurm-client slurm-wlm-basic-plugins"
# Accounting: its daemon and a database, so that users have levels.
packages="$packages slurmdbd slurm-wlm-mysql-plugin mariadb-server"
# What Slurm says by HTTP.
packages="$packages slurmrestd"
# ip, tc and ss: networks of namespaces for emulated nodes.
packages="$packages iproute2"
# A browser without a window: reports are opened as a person would.
packages="$packages chromium"
# Open vSwitch in userspace: bridges as optical switches.
packages="$packages openvswitch-switch openvswitch-common"
# Ping: what passes through switches, and by how many routers; ethtool: frames that switches need not complete.
packages="$packages iputils-ping ethtool"
# Lua: the job_submit file that holds jobs, without a controller around it.
packages="$packages lua5.3"
# A subnet manager, switches and hosts for it to manage, and programs that ask them.
packages="$packages opensm ibsim-utils infiniband-diags"
# Shells whose completion is tried.
packages="$packages zsh fish"

missing=""
for package in $packages; do
    state=$(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null) || state=""
    [ "$state" = installed ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if ! command -v apt-get >/dev/null 2>&1; then
    echo "live tests will be skipped: no apt-get here to install$missing" >&2
    exit 0
fi
if [ "$(id -u)" != 0 ]; then
    echo "live tests will be skipped: only root can install$missing" >&2
    exit 0
fi

policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod 755 "$policy"
    trap 'rm -f "$policy"' EXIT
fi

export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
# $missing is a list of words.
# shellcheck disable=SC2086
apt-get install -qq -y --no-install-recommends -o Acquire::Retries=3 $missing >/dev/null
