"""Studies on a Dask cluster: the same dataset, and nobody without a certificate is let in."""

from __future__ import annotations

import importlib.util
import os
import signal
import socket
import ssl
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from odonata.cli.commands import odonata
from odonata.errors import OutputError, ScenarioError
from odonata.study.dataset import DATASET_FILE
from odonata.study.file import StudyFile
from odonata.study.remote import Certificates, DaskExecutor, slurm_cluster
from odonata.study.run import run_sweep
from odonata.study.sweep import Sweep
from odonata.study.task import Outcome, Task, simulate_task

pytest.importorskip("distributed")
pytest.importorskip("cryptography")
# Imported, it would take Ctrl-C over for all tests; the code under test gives it back.
if importlib.util.find_spec("dask_jobqueue") is None:
    pytest.skip("dask_jobqueue is not installed", allow_module_level=True)
pytestmark = pytest.mark.filterwarnings("ignore")

STUDY = """
title = "Small"

[scenario]
network = { family = "dragonfly", p = 1, a = 2, h = 1 }
[[scenario.job]]
nodes = 6
mapping = "random"
motif = { kind = "all-to-all", message = "1 KiB" }

[[axis]]
key = "network.routing"
values = ["minimal", "valiant"]

[[measure]]
figure = "job.*.run_time_ps"
reduce = "maximum"
unit = "us"
"""
#: Batch jobs that run at once, on this machine.
SBATCH = """#!/bin/sh
cp "$1" "$0.script"
setsid sh "$0.script" >"$0.log" 2>&1 &
echo $! >"$0.job"
echo Submitted batch job $!
"""
# As Slurm after its KillWait: a worker whose scheduler closes while it is told to end can hang.
SCANCEL = """#!/bin/sh
kill -- "-$1"
sleep 1
if kill -0 -- "-$1" 2>/dev/null; then kill -KILL -- "-$1"; fi
"""


class Here:
    """This process."""

    def run(self, tasks: Sequence[Task], report: object) -> Iterator[tuple[Task, Outcome]]:
        for task in tasks:
            yield task, simulate_task(task)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("study") / "small.toml"
    path.write_text(STUDY, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def expected(file: Path) -> bytes:
    """The dataset that every executor must come to."""
    run_sweep(Sweep(StudyFile.from_file(file)), file.parent / "out", executor=Here())
    return (file.parent / "out" / DATASET_FILE).read_bytes()


@dataclass
class Cluster:
    address: str
    certificates: Certificates


def made(directory: Path) -> tuple[Any, Certificates]:
    """Certificates that no others have signed: as Dask's object, and as files."""
    from distributed.security import Security

    security = Security.temporary()
    directory.mkdir()
    for name, text in security.get_tls_config_for_role("client").items():
        if text is not None:
            (directory / name).write_text(text)
    files = Certificates(directory / "ca_file", directory / "cert", directory / "key")
    return security, files


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A scheduler with TLS and a worker, both in threads of this process."""
    from distributed import LocalCluster

    security, files = made(tmp_path_factory.mktemp("tls") / "own")
    with LocalCluster(
        n_workers=1,
        threads_per_worker=1,
        processes=False,
        protocol="tls://",
        host="127.0.0.1",
        dashboard_address=None,
        security=security,
    ) as started:
        assert started.scheduler_address.startswith("tls://127.0.0.1:")
        yield Cluster(started.scheduler_address, files)


def sweep(file: Path, out: Path, executor: DaskExecutor) -> bytes:
    run_sweep(Sweep(StudyFile.from_file(file)), out, executor=executor)
    return (out / DATASET_FILE).read_bytes()


# --- Who is let in --------------------------------------------------------------------


def test_with_a_certificate_the_dataset_is_the_same(
    cluster: Cluster, file: Path, tmp_path: Path, expected: bytes
) -> None:
    files = cluster.certificates
    done = CliRunner().invoke(
        odonata,
        [
            *("study", str(file), "--out", str(tmp_path / "out")),
            *("--executor", "dask", "--scheduler", cluster.address),
            *("--tls-ca-file", str(files.ca), "--tls-cert", str(files.cert)),
            *("--tls-key", str(files.key)),
        ],
        catch_exceptions=False,
    )
    assert done.exit_code == 0, done.output
    assert (tmp_path / "out" / DATASET_FILE).read_bytes() == expected


def test_without_a_certificate_nobody_is_let_in(
    cluster: Cluster, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # No certificate at all: not even tried.
    with pytest.raises(ScenarioError, match="no certificates; allowed: --tls-ca-file"):
        sweep(file, tmp_path / "none", DaskExecutor(cluster.address))
    # Certificates of another cluster.
    _, others = made(tmp_path / "others")
    monkeypatch.setattr("odonata.study.remote.CONNECT_S", 1)
    with pytest.raises(OutputError, match="no Dask scheduler answers at tls"):
        sweep(file, tmp_path / "other", DaskExecutor(cluster.address, certificates=others))
    # That was the client's doing. The scheduler's: those who do trust it and have no certificate,
    # or another cluster's, or speak without TLS, are sent away with at most a TLS alert (RFC 8446,
    # section 5.1: its first byte is 21).
    trusting = ssl.create_default_context(cafile=str(cluster.certificates.ca))
    trusting.check_hostname = False
    strangers = ssl.create_default_context(cafile=str(cluster.certificates.ca))
    strangers.check_hostname = False
    strangers.load_cert_chain(others.cert, others.key)
    own = ssl.create_default_context(cafile=str(cluster.certificates.ca))
    own.check_hostname = False
    own.load_cert_chain(cluster.certificates.cert, cluster.certificates.key)
    assert greeting(cluster, own) > b"\x17"
    assert greeting(cluster, trusting) == b""
    assert greeting(cluster, strangers) == b""
    assert greeting(cluster, None) in (b"", b"\x15")


def greeting(cluster: Cluster, context: ssl.SSLContext | None) -> bytes:
    """The first byte that a scheduler says to somebody; empty if it says none and hangs up."""
    host, _, port = cluster.address.removeprefix("tls://").rpartition(":")
    with socket.create_connection((host, int(port)), timeout=60) as plain:
        try:
            if context is None:
                plain.sendall(b"\0" * 64)
                return plain.recv(1)
            with context.wrap_socket(plain) as encrypted:
                return encrypted.recv(1)
        except TimeoutError:
            raise
        except OSError:
            return b""


@pytest.mark.parametrize(
    ("address", "allowed"),
    [
        ("tls://cluster.example:8786", True),
        ("tcp://127.0.0.1:8786", True),
        ("localhost:8786", True),
        ("tcp://[::1]:8786", True),
        ("tcp://cluster.example:8786", False),
        ("cluster.example:8786", False),
        ("tcp://10.0.0.1:8786", False),
        ("tcp://[fe80::1]:8786", False),
        ("ws://10.0.0.1:8786", False),
    ],
)
def test_an_address_that_others_can_read_must_be_wanted(address: str, allowed: bool) -> None:
    if allowed:
        DaskExecutor(address)
        return
    with pytest.raises(ScenarioError, match=r"allowed: tls://HOST:PORT with .*--unencrypted"):
        DaskExecutor(address)
    DaskExecutor(address, unencrypted=True)


def test_what_does_not_fit_together_is_said(file: Path, tmp_path: Path) -> None:
    pem = tmp_path / "pem"
    pem.write_text("no certificate")
    dask = ("--executor", "dask", "--scheduler", "tls://127.0.0.1:1")
    for options, message in (
        (("--tls-key", str(pem)), "--executor dask only"),
        (("--unencrypted",), "--executor dask only"),
        ((*dask, "--tls-cert", str(pem)), "needed both, or neither"),
        ((*dask, "--tls-ca-file", str(tmp_path / "absent")), "does not exist"),
        (
            (*dask, "--unencrypted", "--tls-ca-file", str(pem), "--tls-cert", str(pem)),
            "for connections with TLS",
        ),
        (
            (*dask, "--tls-ca-file", str(pem), "--tls-cert", str(pem)),
            "no certificates and key in PEM",
        ),
        (
            (*dask[:3], "tcp://127.0.0.1:1", "--tls-ca-file", str(pem), "--tls-cert", str(pem)),
            "certificates, which are for tls://",
        ),
    ):
        done = CliRunner().invoke(
            odonata, ["study", str(file), "--out", str(tmp_path / "out"), *options]
        )
        assert done.exit_code != 0
        assert message in done.output + str(done.exception), options


def test_no_scheduler(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("odonata.study.remote.CONNECT_S", 0.5)
    with pytest.raises(OutputError, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:1"):
        sweep(file, tmp_path / "out", DaskExecutor("tcp://127.0.0.1:1"))


# --- SLURM ----------------------------------------------------------------------------


def test_slurm_parameters_reach_the_batch_script() -> None:
    handler = signal.getsignal(signal.SIGINT)
    parameters = {"cores": 4, "memory": "8GB", "walltime": "00:30:00", "queue": "batch"}
    with slurm_cluster(parameters) as cluster:
        script = cluster.job_script()
    assert "#SBATCH -p batch" in script
    # Ctrl-C is still the study's.
    assert signal.getsignal(signal.SIGINT) is handler
    assert "#SBATCH -t 00:30:00" in script
    assert "--nworkers 4" in script
    with pytest.raises(ScenarioError, match="--slurm"):
        slurm_cluster({"walltime": "00:30:00"})


def test_a_cluster_of_ones_own_is_encrypted(
    file: Path, tmp_path: Path, expected: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in (("sbatch", SBATCH), ("scancel", SCANCEL)):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    executor = DaskExecutor(
        slurm={"cores": 1, "memory": "1GB", "interface": "lo", "nanny": False}, jobs=1
    )
    seen: set[tuple[str, int]] = set()
    run = executor.run

    def watched(tasks: Sequence[Task], report: Any) -> Iterator[tuple[Task, Outcome]]:
        for outcome in run(tasks, report):
            for path in tmp_path.glob(".odonata-dask-*/**"):
                seen.add((path.name, path.stat().st_mode & 0o777))
            yield outcome

    monkeypatch.setattr(executor, "run", watched)
    assert sweep(file, tmp_path / "out", executor) == expected
    script = (tmp_path / "sbatch.script").read_text()
    assert "tls://127.0.0.1:" in script
    assert "tcp://" not in script
    for option in ("--tls-ca-file", "--tls-cert", "--tls-key"):
        assert option in script
    assert "--dashboard-address 127.0.0.1:0" in script
    # Its keys are for nobody else to read, and gone with it.
    assert {mode for name, mode in seen if name.endswith(".pem")} <= {0o600}
    assert {mode for name, mode in seen if not name.endswith(".pem")} == {0o700}
    assert not list(tmp_path.glob(".odonata-dask-*"))
    # Nor does a worker go on.
    group = int((tmp_path / "sbatch.job").read_text())
    deadline = time.monotonic() + 10
    with pytest.raises(ProcessLookupError):
        while time.monotonic() < deadline:
            os.killpg(group, 0)
            time.sleep(0.1)
