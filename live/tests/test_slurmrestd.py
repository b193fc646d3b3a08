"""What slurmrestd answers on a Unix socket; whole answers of a real one are read in real/."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import UnixStreamServer
from typing import Any, ClassVar

import pytest

from command import call
from odonata.errors import ClusterError
from odonata_live.cluster.rest import Slurmrestd

#: As Slurm 22.05.8 answered, cut to what is read, with the slashes that it escapes.
PARTITION_22 = {
    "flags": ["default"],
    "default_time_limit": None,
    "max_time_limit": -1,
    "name": "main",
    "nodes": "n[0-3]",
    "state": "UP",
}
#: The same as version 0.0.40 says it.
PARTITION_23 = {
    "name": "main",
    "nodes": {"configured": "n[0-3]"},
    "maximums": {"time": {"set": True, "infinite": True, "number": 0}},
    "partition": {"state": ["UP"]},
}
JOB = {
    "job_id": 7,
    "job_state": "RUNNING",
    "nodes": "n[0-1]",
    "node_count": 2,
    "partition": "main",
    "start_time": 1_700_000_000,
    "submit_time": 1_700_000_000,
    "time_limit": 5,
    "priority": 1,
}


class Answers(BaseHTTPRequestHandler):
    """Gives the answers that it knows."""

    known: ClassVar[dict[str, Any]] = {}

    def do_GET(self) -> None:
        content = self.known.get(self.path)
        body = json.dumps(content or {"errors": [{"description": "no such path"}]}).encode()
        self.send_response(200 if content else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.replace(b"/", b"\\/"))

    def address_string(self) -> str:
        return "socket"

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def socket(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "rest"
    with UnixStreamServer(str(path), Answers) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield path
        server.shutdown()
        thread.join()


def answers(version: str, partition: dict[str, Any]) -> None:
    nodes = [{"name": f"n{i}", "state": "idle" if i > 1 else "allocated"} for i in range(4)]
    Answers.known = {
        "/openapi/v3": {"paths": {"/slurm/v0.0.9/nodes": {}, f"/slurm/v{version}/nodes": {}}},
        f"/slurm/v{version}/nodes": {"nodes": nodes},
        f"/slurm/v{version}/partitions": {"partitions": [partition]},
        f"/slurm/v{version}/reservations": {"errors": [], "reservations": []},
        f"/slurm/v{version}/jobs": {"jobs": [JOB]},
    }


@pytest.mark.parametrize(
    ("version", "partition"), [("0.0.38", PARTITION_22), ("0.0.40", PARTITION_23)]
)
def test_the_newest_version_is_asked(
    socket: Path, version: str, partition: dict[str, Any], tmp_path: Path
) -> None:
    answers(version, partition)
    rest = Slurmrestd(socket)
    assert rest.version == version
    machine = rest.machine()
    assert list(machine.nodes) == ["n0", "n1", "n2", "n3"]
    main = machine.partitions["main"]
    assert (main.nodes, main.is_up, main.time_limit_s) == (("n0", "n1", "n2", "n3"), True, None)
    assert machine.reservations == []
    (job,), left_out = rest.jobs()
    assert (job.id, job.nodes, left_out) == ("7", ("n0", "n1"), [])
    # The command shows the same: job 7 has all of the first group, the second is idle.
    (tmp_path / "links").write_text("SwitchName=a Nodes=n[0-1]\nSwitchName=b Nodes=n[2-3]\n")
    command = ("cluster", "show", "--slurmrestd", socket, "--topology", "links")
    shown = call(*command, directory=tmp_path)
    assert shown.returncode == 0, shown.stderr
    assert "a" in shown.stdout and "b" in shown.stdout


def test_what_does_not_answer_is_said(socket: Path, tmp_path: Path) -> None:
    Answers.known = {}
    with pytest.raises(ClusterError, match=r"404 to .*no such path"):
        Slurmrestd(socket)
    Answers.known = {"/openapi/v3": {"paths": {"/other": {}}}}
    with pytest.raises(ClusterError, match="no version"):
        Slurmrestd(socket)
    with pytest.raises(ClusterError, match="Is it up"):
        Slurmrestd(tmp_path / "none")
    answer = call("cluster", "show", "--slurmrestd", socket, directory=tmp_path)
    assert answer.returncode != 0 and "--topology" in answer.stderr
