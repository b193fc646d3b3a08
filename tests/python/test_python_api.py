"""The package as people use it from Python: functions, help, notebooks, progress."""

from __future__ import annotations

import inspect
import io
import pydoc
import re
import sys
import types
from pathlib import Path

import networkx
import numpy as np
import pytest
from PIL import Image

import odonata
from odonata import Scenario, ScenarioError
from odonata.cli.commands import COMMANDS
from odonata.progress import NotebookBar, following, share_of
from odonata.simulate import Progress

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def scenario() -> Scenario:
    text = odonata.first_scenario("dragonfly", nodes=20)
    return Scenario.from_toml(text).with_set({"job.0.motif.iterations": 1})


@pytest.fixture(scope="module")
def result(scenario: Scenario) -> odonata.Result:
    return odonata.run(scenario)


def test_what_the_package_offers_is_listed() -> None:
    assert dir(odonata) == sorted(odonata.__all__)
    assert re.fullmatch(r"\d+\.\d+\.\d+.*", odonata.__version__)
    # Importing what implements a function does not take its place.
    for name in odonata.__all__:
        assert not isinstance(getattr(odonata, name), types.ModuleType), name


def test_every_function_of_the_guides_table_is_there_and_every_command_in_it() -> None:
    guide = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    table = guide[guide.index("| task |") : guide.index("[examples/tasks]")]
    for name in re.findall(r"`odonata\.(\w+)", table):
        assert callable(getattr(odonata, name)) or name == "cluster", name
    for command in COMMANDS:
        assert f"`odonata {command}" in table or f"`{command}`" in table, command


def test_commands_are_functions_of_their_name(tmp_path: Path) -> None:
    file = odonata.init(tmp_path / "first.toml", "torus", nodes=16)
    result = odonata.run(file, set={"job.0.motif.iterations": 1})
    out = result.save(tmp_path / "run")
    assert odonata.show(out).jobs.equals(result.jobs)
    assert odonata.report(out, out=tmp_path / "run.html").is_file()
    assert odonata.mapping(file) == odonata.mapping_costs(file)
    assert odonata.slurm is odonata.schedule_as_slurm
    assert odonata.log is odonata.read_job_log
    assert odonata.trace is odonata.describe_trace
    found = odonata.tails(np.arange(1.0, 101.0), families=["norm"])
    # The median of 1 to 100; a normal distribution has their mean.
    assert found.tail.median == 50.5 and found.fits[0].family == "norm"
    (tmp_path / "study.toml").write_text(
        'title = "Two"\nbase = "first.toml"\n'
        '[[axis]]\nname = "routing"\nkey = "network.routing"\nvalues = ["dimension-order"]\n'
        '[[measure]]\nname = "nodes"\nfigure = "run.nodes"\n'
    )
    assert odonata.study(tmp_path / "study.toml").table.num_rows == 1
    # They are modules still.
    assert odonata.study.sweeping.run_study is odonata.run_study
    assert odonata.cluster.utilisation.__module__ == "odonata_live.cluster.utilisation"
    with pytest.raises(odonata.OutputError, match="found no results"):
        odonata.show(tmp_path)


def test_every_public_name_has_help() -> None:
    for name in odonata.__all__:
        value = getattr(odonata, name)
        if callable(value):
            assert inspect.getdoc(value), name


def test_help_of_a_table_says_what_its_fields_mean(scenario: Scenario) -> None:
    shown = pydoc.plain(pydoc.render_doc(type(scenario.network)))
    assert "p: Nodes per router. Must be given." in shown
    assert "routing: " in shown
    shown = pydoc.plain(pydoc.render_doc(Scenario))
    assert "seed: " in shown


def test_the_proof_is_that_of_the_command(scenario: Scenario) -> None:
    proof = odonata.verify(scenario)
    assert proof
    assert proof.cycle == []
    assert proof.channels > 0
    assert proof.safe
    assert proof.proven


def test_a_topology_is_a_graph(scenario: Scenario) -> None:
    wired = odonata.topology(scenario)
    described = wired.description
    graph = wired.to_networkx()
    routers = [one for one in graph if one[0] == "router"]
    nodes = [one for one in graph if one[0] == "node"]
    assert (len(routers), len(nodes)) == (described["routers"], described["nodes"])
    assert networkx.is_connected(graph)
    # p = 1, a = 4, h = 1: 5 groups of 6 local links, and 10 global links.
    kinds = [kind for *_, kind in graph.edges(data="kind")]
    assert {kind: kinds.count(kind) for kind in set(kinds)} == {
        "terminal": 20,
        "local": 30,
        "global": 10,
    }
    assert networkx.diameter(graph.subgraph(routers)) == described["diameter"]
    assert len(wired.edges) == 30 + 10
    assert len(wired.links) == graph.number_of_edges()
    assert "Link classes" in wired._repr_html_()
    assert Image.open(io.BytesIO(wired.plot()._repr_png_())).width > 500


def test_a_replay_is_that_of_the_command(tmp_path: Path) -> None:
    trace = odonata.example("trace", tmp_path)
    found = odonata.replay(trace, compute_scale=0)
    (job,) = found.summary_dict["jobs"]
    assert job["messages_delivered"] == 256
    slower = odonata.replay(trace, set={"network.links.terminal.bandwidth": "1 GB/s"})
    assert slower.summary_dict["jobs"][0]["run_time_ps"] > job["run_time_ps"]


def test_saturation_is_found(tmp_path: Path) -> None:
    text = odonata.first_scenario("crossbar", nodes=8, load=0.5)
    scenario = Scenario.from_toml(text).with_set(
        {"simulation.duration": "20 us", "simulation.warmup": "5 us"}
    )
    answer: list[tuple[float, int]] = []
    found = odonata.saturation(
        scenario, tolerance=0.2, jobs=1, progress=lambda share, done: answer.append((share, done))
    )
    assert found.points[0].load == 0.1
    assert answer


def test_results_show_themselves(result: odonata.Result) -> None:
    page = result._repr_html_()
    job = result.summary_dict["jobs"][0]
    assert job["name"] in page
    assert page.count("<table") == 2
    picture = result.plot.timeline()._repr_png_()
    assert picture[:4] == b"\x89PNG"


def test_progress_is_shown_where_it_is_asked_for(
    scenario: Scenario, capsys: pytest.CaptureFixture[str]
) -> None:
    answer: list[Progress] = []
    odonata.run(scenario, progress=answer.append)
    odonata.run(scenario, progress=True)  # no terminal: nothing is drawn
    assert capsys.readouterr().err.strip() == ""
    with following(False, lambda console: None, "x") as nothing:
        assert nothing is None


def test_a_notebook_gets_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []

    class Handle:
        def update(self, page: str) -> None:
            shown.append(page)

    def display(page: str, display_id: bool) -> Handle:
        shown.append(page)
        return Handle()

    module = types.ModuleType("IPython.display")
    module.display, module.HTML = display, str  # type: ignore[attr-defined]
    parent = types.ModuleType("IPython")
    parent.get_ipython = lambda: types.SimpleNamespace(config={"IPKernelApp": {}})  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", parent)
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    with following(True, lambda console: None, "Sim <1>") as bar:
        assert isinstance(bar, NotebookBar)
        bar(0.25, 3)
        bar(30, 40)
    assert 'value="0.0000"' in shown[0]
    assert "Sim &lt;1&gt;: 25 %" in shown[1]
    assert "75 %" in shown[2]
    assert 'value="1.0000"' in shown[3], "what ends without an error is done"


def test_shares_are_told_in_every_form() -> None:
    assert share_of(Progress(1, 2, 3, 4, 0.5)) == 0.5
    assert share_of(0.25, 7) == 0.25
    assert share_of(3, 4) == 0.75
    assert share_of(0, 0) == 0.0


def test_what_is_raised_while_it_runs_stops_it(scenario: Scenario) -> None:
    def stop(_: Progress) -> None:
        raise KeyboardInterrupt

    long = scenario.with_set({"job.0.motif.iterations": 100_000})
    with pytest.raises(KeyboardInterrupt):
        odonata.run(long, progress=stop)


def test_errors_are_the_packages_own() -> None:
    with pytest.raises(ScenarioError, match="allowed"):
        odonata.first_scenario("ring")
