"""What is installed on request is missed before work begins, with a command that brings it."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import odonata
from command import call
from odonata.errors import LibraryError
from odonata.libraries import REQUIREMENTS
from odonata.study.remote import DaskExecutor
from odonata_live.control.driver import make_driver

#: Set by tools/shipped.py, whose environment has nothing that is installed on request.
bare = pytest.mark.skipif(
    "ODONATA_SHIPPED" not in os.environ, reason="python tools/shipped.py makes the environment"
)


@bare
def test_nothing_that_is_installed_on_request_is_here() -> None:
    assert sys.prefix == os.environ["ODONATA_SHIPPED"]
    assert [name for name in REQUIREMENTS if find_spec(name) is not None] == []


@bare
def test_what_is_missing_is_said_with_what_brings_it(tmp_path: Path) -> None:
    result = odonata.run(odonata.Scenario.from_toml(odonata.first_scenario("crossbar", nodes=2)))
    install = f"{sys.executable} -m pip install"
    with pytest.raises(LibraryError, match="polars") as missing:
        result.to_polars("jobs")
    assert f"{install} 'polars>=1.0'" in str(missing.value)
    with pytest.raises(LibraryError, match="networkx"):
        odonata.topology(result.scenario).to_networkx()
    with pytest.raises(LibraryError, match="os-ken"):
        make_driver("ocs", {"kind": "openflow"}, 0)
    with pytest.raises(LibraryError, match=r"distributed.*dask-jobqueue.*cryptography"):
        DaskExecutor(slurm={"cores": 1})


@bare
def test_nothing_has_been_written_when_a_library_is_missed(tmp_path: Path) -> None:
    done = call(
        *("study", "kaplan2017", "--executor", "dask", "--scheduler", "tcp://127.0.0.1:1"),
        directory=tmp_path,
    )
    assert done.returncode == 2
    assert "pip install 'distributed>=2024.2'" in " ".join(done.stderr.split())
    assert list(tmp_path.iterdir()) == []
