"""Asks slurmrestd, on its Unix socket, for what Slurm's commands would print; read only.

Partitions of Slurm before 23.11 do not say there whether jobs have nodes for themselves.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import socket
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from odonata.errors import ClusterError
from odonata_live.cluster import jobs as cluster_jobs
from odonata_live.cluster import model
from odonata_live.cluster.slurm import TIMEOUT_S

_Read = TypeVar("_Read")

#: Answers that are longer are refused: 100,000 jobs are about 500 MB.
_LONGEST = 1 << 30


class Slurmrestd:
    """A slurmrestd that listens on a Unix socket.

    Who may ask is whom the socket's directory lets in; slurmrestd (``rest_auth/local``) asks Slurm
    as its own user, so that it sees what that user may see.

    Args:
        path: The socket.
        timeout_s: How long an answer may take.

    Raises:
        ClusterError: If nothing answers there, or nothing that is slurmrestd.
    """

    def __init__(self, path: str | os.PathLike[str], timeout_s: float = TIMEOUT_S) -> None:
        self.path, self.timeout_s = Path(path), timeout_s
        body = self._get("/openapi/v3")
        versions = {
            tuple(map(int, one.split("."))) for one in re.findall(r'"\\?/slurm\\?/v([\d.]+)', body)
        }
        if not versions:
            raise ClusterError(f"{path}: offers no version of Slurm's REST interface")
        self.version = ".".join(map(str, max(versions)))

    def machine(self) -> model.Machine:
        """Nodes, partitions and reservations.

        Raises:
            ClusterError: If it does not answer, or nobody can read what it says.
        """
        return model.Machine(
            self._read("nodes", model.read_node_list),
            self._read("partitions", model.read_partitions),
            self._read("reservations", model.read_reservations),
        )

    def jobs(self) -> tuple[list[cluster_jobs.Job], list[cluster_jobs.LeftOut]]:
        """Jobs that wait or run, and the records that made no sense.

        Raises:
            ClusterError: If it does not answer.
        """
        return self._read("jobs", cluster_jobs.read_jobs)

    def _read(self, what: str, reader: Callable[[str, str], _Read]) -> _Read:
        return reader(self._get(f"/slurm/v{self.version}/{what}"), f"slurmrestd: {what}")

    def _get(self, what: str) -> str:
        connection = _Connection(self.path, self.timeout_s)
        try:
            connection.request("GET", what, headers={"Accept": "application/json"})
            answer = connection.getresponse()
            body = answer.read(_LONGEST + 1).decode(errors="replace")
        except (OSError, http.client.HTTPException) as error:
            raise ClusterError(
                f"{self.path}: no answer of slurmrestd: {error or type(error).__name__}. Is it up "
                "(`slurmrestd unix:PATH`), and may you open its socket?"
            ) from error
        finally:
            connection.close()
        if answer.status != 200 or len(body) > _LONGEST:
            raise ClusterError(
                f"{self.path}: slurmrestd says {answer.status} to {what}: {_errors(body)[:300]}"
            )
        return body


class _Connection(http.client.HTTPConnection):
    def __init__(self, path: str | os.PathLike[str], timeout_s: float) -> None:
        super().__init__("localhost", timeout=timeout_s)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))


def _errors(text: str) -> str:
    try:
        found = json.loads(text)["errors"]
        return "; ".join(str(one.get("description") or one.get("error") or one) for one in found)
    except (ValueError, KeyError, TypeError, AttributeError):
        return text.strip()
