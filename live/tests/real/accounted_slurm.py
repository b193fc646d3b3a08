"""An emulated Slurm with accounting: MariaDB and slurmdbd beside it, so that users have levels."""

from __future__ import annotations

import shlex
import shutil

from emulated_slurm import EmulatedSlurm, _program, free_ports

PROGRAMS = ("mariadbd", "mariadb-install-db", "mariadb", "slurmdbd", "sacctmgr")


def reason_to_skip_accounting() -> str | None:
    """Why there can be no accounting here; `None` if there can."""
    missing = [name for name in PROGRAMS if _program(name) is None]
    if missing:
        return f"accounting needs {', '.join(missing)}: run tools/live-packages.sh"
    return None


class AccountedSlurm(EmulatedSlurm):
    """A controller that asks slurmdbd who may what.

    Args of `EmulatedSlurm`, and `operators`: users of the level *Operator*.
    """

    operators: tuple[str, ...] = ("daemon",)

    def _write_configuration(self) -> None:
        self._database_port, self._dbd_port = free_ports(2)
        self.parameters |= {
            "AccountingStorageType": "accounting_storage/slurmdbd",
            "AccountingStorageHost": "localhost",
            "AccountingStoragePort": self._dbd_port,
            # To slurmdbd it is this, not AuthInfo, that names the socket.
            "AccountingStoragePass": f"{self.directory}/munge/socket",
            "ClusterName": "emulated",
        }
        super()._write_configuration()
        base = self.directory
        lines = {
            "AuthType": "auth/munge",
            "AuthInfo": f"socket={base}/munge/socket",
            "DbdHost": "localhost",
            "DbdPort": self._dbd_port,
            "SlurmUser": "root",
            "StorageType": "accounting_storage/mysql",
            "StorageHost": "127.0.0.1",
            "StoragePort": self._database_port,
            "StorageUser": "slurm",
            "StoragePass": "emulated",
            "StorageLoc": "slurm_acct_db",
            "LogFile": f"{base}/log/slurmdbd.log",
            "PidFile": f"{base}/run/slurmdbd.pid",
        }
        configuration = base / "slurmdbd.conf"
        configuration.touch(mode=0o600)
        configuration.write_text("".join(f"{key}={value}\n" for key, value in lines.items()))
        database = base / "database"
        database.mkdir(exist_ok=True)
        shutil.chown(database, "mysql")

    def _before_controller(self) -> list[str]:
        base = self.directory
        socket = f"{base}/database/socket"
        server = [
            *(_program("mariadbd") or "mariadbd", "--no-defaults", "--user=mysql"),
            *(f"--datadir={base}/database/data", f"--socket={socket}"),
            *(f"--pid-file={base}/database/pid", f"--port={self._database_port}"),
            *("--bind-address=127.0.0.1", "--skip-name-resolve", "--innodb-buffer-pool-size=64M"),
            # What is lost with the machine is nobody's.
            *("--innodb-flush-log-at-trx-commit=0", "--innodb-doublewrite=0"),
        ]
        install = [
            *("mariadb-install-db", "--no-defaults", "--user=mysql", "--skip-test-db"),
            *(f"--datadir={base}/database/data", "--auth-root-authentication-method=socket"),
            *("--skip-name-resolve", "--innodb-flush-log-at-trx-commit=0"),
        ]
        ask = shlex.join(["mariadb", "-S", socket, "-u", "root"])
        grants = (
            "create database slurm_acct_db; "
            "create user 'slurm'@'127.0.0.1' identified by 'emulated'; "
            "grant all on slurm_acct_db.* to 'slurm'@'127.0.0.1'"
        )
        users = ",".join(self.operators)
        return [
            f"{shlex.join(install)} >{base}/log/install.log 2>&1",
            f"{shlex.join(server)} >{base}/log/mariadb.log 2>&1 &",
            _until(f"echo 'select 1' | {ask}"),
            f"echo {shlex.quote(grants)} | {ask}",
            _program("slurmdbd") or "slurmdbd",
            _until("sacctmgr --noheader show cluster"),
            "sacctmgr --immediate add cluster emulated >/dev/null",
            "sacctmgr --immediate add account all >/dev/null",
            f"sacctmgr --immediate add user {users} account=all adminlevel=Operator >/dev/null",
        ]


def _until(command: str) -> str:
    """Waits for a command to succeed. Who waits does not see that nobody needs it any more."""
    waiting = f"until {command} >/dev/null 2>&1; do sleep 0.1; done"
    return f"timeout 60 sh -c {shlex.quote(waiting)}"
