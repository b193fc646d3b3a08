"""Workers of a Dask cluster: an existing scheduler, or one's own on SLURM.

Dask (`distributed`) and dask-jobqueue are optional: ``pip install odonata[dask]``.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from odonata.errors import OutputError, ScenarioError
from odonata.study.local import TICK_S
from odonata.study.task import Outcome, Task, failure, simulate_task

if TYPE_CHECKING:
    from dask_jobqueue import SLURMCluster

#: How long to look for a scheduler.
CONNECT_S = 30


class DaskExecutor:
    """The workers of a Dask scheduler.

    They need the same version of Odonata, and the files that scenarios name under the same
    paths. Only the study's own process writes results.

    Args:
        scheduler: Its address, such as ``tcp://host:8786``; or
        slurm: parameters of ``dask_jobqueue.SLURMCluster``, such as ``cores``, ``memory`` and
            ``walltime``, for a cluster of one's own that ends with the study.
        jobs: With `slurm`: batch jobs. Default: 1.
        security: A ``distributed.Security`` with certificates, for an address that begins with
            ``tls://``. Default: as Dask's own configuration says.

    Raises:
        OutputError: If Dask is not installed or the scheduler does not answer.
    """

    def __init__(
        self,
        scheduler: str | None = None,
        *,
        slurm: Mapping[str, Any] | None = None,
        jobs: int | None = None,
        security: Any = None,
    ) -> None:
        if (scheduler is None) == (slurm is None):
            raise ValueError("exactly one of scheduler and slurm is needed")
        self._scheduler, self._slurm, self._jobs = scheduler, slurm, jobs
        self._security = security

    def run(
        self, tasks: Sequence[Task], report: Callable[[str, float], object]
    ) -> Generator[tuple[Task, Outcome]]:
        """As [`Executor.run`][odonata.study.task.Executor.run]; tells no shares of tasks."""
        try:
            from distributed import Client, wait
        except ModuleNotFoundError:
            raise _not_installed("distributed") from None
        cluster = None if self._slurm is None else slurm_cluster(self._slurm)
        try:
            if cluster is not None:
                cluster.scale(jobs=self._jobs or 1)
            try:
                client = Client(
                    cluster or self._scheduler, timeout=CONNECT_S, security=self._security
                )
            except (OSError, TimeoutError, ValueError) as error:
                message = f"no Dask scheduler answers at {self._scheduler}: {error}"
                raise OutputError(message) from None
            with client:
                futures = {
                    # Not `pure`: a scheduler that remembers an outcome of another version of the
                    # same name must not hand it out.
                    client.submit(simulate_task, task, pure=False, key=None): task
                    for task in tasks
                }
                try:
                    while futures:
                        try:
                            done = wait(
                                list(futures), timeout=TICK_S, return_when="FIRST_COMPLETED"
                            ).done
                        except TimeoutError:
                            done = set()
                        for future in done:
                            task = futures.pop(future)
                            failed = future.exception()
                            if failed is not None:
                                raise failure(task, failed)
                            outcome = future.result()
                            yield task, outcome
                        report("", 0.0)
                finally:
                    client.cancel(list(futures))
        finally:
            if cluster is not None:
                cluster.close()


def slurm_cluster(parameters: Mapping[str, Any]) -> SLURMCluster:
    """A Dask cluster whose workers are batch jobs of SLURM, each simulating with its own process.

    Args:
        parameters: Of ``dask_jobqueue.SLURMCluster``. ``processes`` is set to ``cores`` unless
            given, as a simulation uses one thread.

    Raises:
        OutputError: If dask-jobqueue is not installed.
        ScenarioError: If there is no such parameter.
    """
    # The import lets Ctrl-C end the process at once; a study wants to keep what is done.
    handler = signal.getsignal(signal.SIGINT)
    try:
        from dask_jobqueue import SLURMCluster
    except ModuleNotFoundError:
        raise _not_installed("dask-jobqueue") from None
    signal.signal(signal.SIGINT, handler)
    from odonata.errors import Problem

    given = dict(parameters)
    if "cores" in given:
        given.setdefault("processes", given["cores"])
    given.setdefault("job_name", "odonata-study")
    # Dask's status page tells everything to everybody; by itself it listens everywhere.
    given.setdefault("scheduler_options", {"dashboard_address": "127.0.0.1:0"})
    try:
        return SLURMCluster(**given)
    except TypeError as error:
        raise ScenarioError([Problem("--slurm", str(error))]) from None
    except ValueError as error:
        # What it needs and did not get, such as the memory of a job.
        raise ScenarioError([Problem("--slurm", str(error).strip())]) from None


def _not_installed(package: str) -> OutputError:
    return OutputError(
        f"{package} is not installed, which --executor dask needs; "
        "install it with: pip install 'odonata[dask]'"
    )
