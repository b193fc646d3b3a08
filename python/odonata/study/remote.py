"""Workers of a Dask cluster: an existing scheduler, or one's own on SLURM.

Dask (`distributed`), dask-jobqueue and cryptography are installed on request.

Anyone who reaches a Dask scheduler or worker can make it run any code. Dask's one way of
telling who asks is TLS on both sides: each shows a certificate that the other's authority has
signed. So a cluster of one's own has certificates made for it, and a scheduler elsewhere needs
some, or a word that it shall do without.
"""

from __future__ import annotations

import gc
import ipaddress
import os
import signal
import tempfile
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from odonata.errors import OutputError, Problem, ScenarioError
from odonata.libraries import check_installed
from odonata.output import write_file
from odonata.study.local import TICK_S
from odonata.study.task import Outcome, Task, TaskError, failure, simulate_task

if TYPE_CHECKING:
    from dask_jobqueue import SLURMCluster
    from distributed import Client
    from distributed.security import Security

#: How long to look for a scheduler.
CONNECT_S = 30


#: Where nobody but this machine's users gets to: pages that tell everything to everybody.
_LOOPBACK_PORT = "127.0.0.1:0"


@dataclass(frozen=True)
class Certificates:
    """Files in PEM by which the parties of a Dask cluster know each other.

    Attributes:
        ca: Certificates of the authorities whose signature counts.
        cert: One's own certificate.
        key: Its private key; None if `cert` holds it too.
    """

    ca: Path
    cert: Path
    key: Path | None = None

    def security(self) -> Security:
        """The same for Dask, for every role.

        Raises:
            ScenarioError: If the files are missing or hold no certificates and key.
        """
        from distributed.security import Security

        files: dict[str, str] = {"tls_ca_file": str(self.ca.resolve())}
        for role in ("client", "scheduler", "worker"):
            files[f"tls_{role}_cert"] = str(self.cert.resolve())
            if self.key is not None:
                files[f"tls_{role}_key"] = str(self.key.resolve())
        security = Security(require_encryption=True, **files)
        try:
            security.get_connection_args("client")
        except OSError as error:  # a file's or, as ssl.SSLError, its contents'
            message = f"found files that are no certificates and key in PEM: {error}"
            raise ScenarioError(
                [Problem("--tls-ca-file, --tls-cert, --tls-key", message)]
            ) from None
        return security


class DaskExecutor:
    """The workers of a Dask scheduler.

    They need the same version of Odonata, and the files that scenarios name under the same
    paths. Only the study's own process writes results.

    Args:
        scheduler: Its address, such as ``tls://host:8786``; or
        slurm: parameters of ``dask_jobqueue.SLURMCluster``, such as ``cores``, ``memory`` and
            ``walltime``, for a cluster of one's own that ends with the study.
        jobs: With `slurm`: batch jobs. Default: 1.
        certificates: For TLS. Default: those that Dask's own configuration names
            (``distributed.comm.tls``); with `slurm` and none there, new ones for this cluster.
        unencrypted: Whether a connection without TLS that leaves this machine is wanted.

    Raises:
        ScenarioError: If the scheduler's address is on another machine and without TLS, and
            `unencrypted` is false.
        LibraryError: If Dask, or with `slurm` what it takes, is not installed.
    """

    def __init__(
        self,
        scheduler: str | None = None,
        *,
        slurm: Mapping[str, Any] | None = None,
        jobs: int | None = None,
        certificates: Certificates | None = None,
        unencrypted: bool = False,
    ) -> None:
        if (scheduler is None) == (slurm is None):
            raise ValueError("exactly one of scheduler and slurm is needed")
        if certificates is not None and unencrypted:
            raise ValueError("certificates are for TLS; without encryption there are none")
        if scheduler is not None and not unencrypted:
            _refuse_plain(scheduler, certificates is not None)
        for_slurm = () if slurm is None else ("dask_jobqueue", "cryptography")
        check_installed("--executor dask", "distributed", *for_slurm)
        self._scheduler, self._slurm, self._jobs = scheduler, slurm, jobs
        self._certificates, self._unencrypted = certificates, unencrypted

    def run(
        self, tasks: Sequence[Task], report: Callable[[str, float], object]
    ) -> Generator[tuple[Task, Outcome | TaskError]]:
        """As [`Executor.run`][odonata.study.task.Executor.run]; tells no shares of tasks.

        Raises:
            OutputError: If the scheduler does not answer.
            ScenarioError: If the certificates or the parameters for SLURM are none.
        """
        with ExitStack() as ends:
            security = self._security(ends)
            cluster = None
            if self._slurm is not None:
                cluster = ends.enter_context(slurm_cluster(self._slurm, security))
                cluster.scale(jobs=self._jobs or 1)
            with _connected(cluster or self._scheduler, security) as client:
                yield from _outcomes(client, tasks, report)

    def _security(self, ends: ExitStack) -> Security | None:
        """What TLS is to go by, or None for none; files made for it live until `ends` does."""
        from distributed.security import Security

        if self._certificates is not None:
            return self._certificates.security()
        configured = Security()
        if configured.tls_ca_file is not None:
            return configured
        if self._slurm is None or self._unencrypted:
            return None
        made = Security.temporary()
        # Workers read them from a directory that their nodes see as well.
        shared = self._slurm.get("shared_temp_directory") or _shared_directory()
        try:
            name = tempfile.TemporaryDirectory(prefix=".odonata-dask-", dir=shared)
        except OSError as error:
            problem = Problem("--slurm", f"shared_temp_directory: {shared}: {error.strerror}")
            raise ScenarioError([problem]) from None
        directory = Path(ends.enter_context(name))
        files = Certificates(*(directory / f"{part}.pem" for part in ("ca", "cert", "key")))
        role = made.get_tls_config_for_role("worker")
        for file, part in ((files.ca, "ca_file"), (files.cert, "cert"), (files.key, "key")):
            assert file is not None
            # Nobody else may read them, not even for a moment.
            write_file(file, role[part], permissions=0o600)
        return files.security()


def _connected(cluster: Any, security: Security | None) -> Client:
    """A client of a cluster, or of the scheduler at an address.

    Raises:
        OutputError: If none answers, or not to us.
        ScenarioError: If the address is one with TLS and there are no certificates for it.
    """
    from distributed import Client
    from distributed.security import Security

    try:
        if isinstance(cluster, str) and cluster.startswith(("tls://", "wss://")):
            connection = (security or Security()).get_connection_args("client")
            if connection["ssl_context"] is None:
                found = (
                    f"found {cluster} and no certificates; allowed: --tls-ca-file, --tls-cert and "
                    "--tls-key, or distributed.comm.tls in Dask's configuration"
                )
                raise ScenarioError([Problem("--scheduler", found)])
        return Client(cluster, timeout=CONNECT_S, security=security)
    except ScenarioError:
        raise
    except (OSError, RuntimeError, TimeoutError, ValueError) as error:
        message = f"no Dask scheduler answers at {cluster}: {error}"
    # The client that came to nothing is still about, and closes itself when it is collected. Should
    # that happen while another one starts, the two would wait for each other for ever.
    gc.collect()
    raise OutputError(message)


def _refuse_plain(address: str, certified: bool) -> None:
    """Raises if what is sent to `address` can be read and answered by others than its users.

    Args:
        address: Of a scheduler; without a scheme it is one of TCP.
        certified: Whether certificates were given, which only TLS looks at.
    """
    scheme, _, place = address.rpartition("://")
    if scheme in ("tls", "wss"):
        return
    host = place.rpartition(":")[0].strip("[]") or place
    try:
        local = ipaddress.ip_address(host).is_loopback
    except ValueError:
        local = host == "localhost"
    if certified or not (local or scheme == "inproc"):
        message = (
            f"found {address}, where anybody on the way can read what is sent and run code of "
            "their own; allowed: tls://HOST:PORT with --tls-ca-file, --tls-cert and --tls-key, an "
            "address of this machine (an ssh tunnel's), or --unencrypted"
        )
        if certified:
            message = f"found {address} and certificates, which are for tls://HOST:PORT"
        raise ScenarioError([Problem("--scheduler", message)])


def _slurm_cluster_class() -> Any:
    # The import lets Ctrl-C end the process at once; a study wants to keep what is done.
    handler = signal.getsignal(signal.SIGINT)
    try:
        from dask_jobqueue import SLURMCluster
    finally:
        signal.signal(signal.SIGINT, handler)
    return SLURMCluster


def _configured(key: str) -> Any:
    """What Dask's configuration says of clusters on SLURM."""
    _slurm_cluster_class()  # brings its part of the configuration
    import dask

    return dask.config.get(f"jobqueue.slurm.{key}", None)


def _shared_directory() -> Path:
    """A directory that all nodes see: Dask's configuration's, or where the study was started."""
    configured = _configured("shared-temp-directory")
    return Path(os.path.expandvars(configured)).expanduser() if configured else Path.cwd()


def slurm_cluster(parameters: Mapping[str, Any], security: Security | None = None) -> SLURMCluster:
    """A Dask cluster whose workers are batch jobs of SLURM, each simulating with its own process.

    Args:
        parameters: Of ``dask_jobqueue.SLURMCluster``. ``processes`` is set to ``cores`` unless
            given, as a simulation uses one thread.
        security: Files for TLS between its parties. Default: none.

    Raises:
        ScenarioError: If there is no such parameter.
    """
    create = _slurm_cluster_class()
    given = dict(parameters)
    if "cores" in given:
        given.setdefault("processes", given["cores"])
    given.setdefault("job_name", "odonata-study")
    if security is not None and security.tls_ca_file is not None:
        given.setdefault("security", security)
    # Dask's status pages tell everything to everybody; by themselves they listen everywhere.
    given.setdefault("scheduler_options", {"dashboard_address": _LOOPBACK_PORT})
    extra = given.get("worker_extra_args") or _configured("worker-extra-args") or []
    given["worker_extra_args"] = ["--dashboard-address", _LOOPBACK_PORT, *extra]
    try:
        return create(**given)
    except TypeError as error:
        raise ScenarioError([Problem("--slurm", str(error))]) from None
    except (ValueError, RuntimeError) as error:
        # What it needs and did not get, such as the memory of a job.
        raise ScenarioError([Problem("--slurm", str(error).strip())]) from None


def _outcomes(
    client: Client, tasks: Sequence[Task], report: Callable[[str, float], object]
) -> Generator[tuple[Task, Outcome | TaskError]]:
    """What the workers of a client find, as they find it; what is left is cancelled."""
    from distributed import wait

    futures = {
        # Not `pure`: a scheduler that remembers an outcome of another version of the
        # same name must not hand it out.
        client.submit(simulate_task, task, pure=False, key=None): task
        for task in tasks
    }
    try:
        while futures:
            try:
                done = wait(list(futures), timeout=TICK_S, return_when="FIRST_COMPLETED").done
            except TimeoutError:
                done = set()
            for future in done:
                task = futures.pop(future)
                failed = future.exception()
                if failed is not None:
                    yield task, failure(task, failed)
                else:
                    yield task, future.result()
            report("", 0.0)
    finally:
        client.cancel(list(futures))
