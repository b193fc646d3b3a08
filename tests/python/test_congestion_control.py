"""Congestion control as users ask for it, and what they read of it."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from odonata import Result, Scenario, run
from odonata.errors import ScenarioError
from odonata.report.summaries import print_summary

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "congestion-control.toml"
#: With parameters for links of 17 GB/s where the defaults are for slower ones.
SCHEMES = {
    "slingshot": '"slingshot"',
    "window": '{ kind = "window", window = "16 KiB" }',
    "ecn": '{ kind = "ecn", mark_from = "20 kB", mark_all = "400 kB", mark_probability = 0.1, '
    'additive_increase = "50 MB/s", hyper_increase = "500 MB/s" }',
    "infiniband": '{ kind = "infiniband", index_timer = "20 us" }',
}


def example(directory: Path, scheme: str, *changes: tuple[str, str]) -> Scenario:
    """The example with another scheme, and with texts in place of others."""
    text = EXAMPLE.read_text(encoding="utf-8")
    line = 'congestion_control = "slingshot"'
    for old, new in ((line, f"congestion_control = {scheme}"), *changes):
        assert old in text
        text = text.replace(old, new)
    file = directory / "scenario.toml"
    file.write_text(text, encoding="utf-8")
    return Scenario.from_file(file)


def test_defaults_for_slower_links_are_told_with_those_for_these(tmp_path: Path) -> None:
    """A node has 17.18 GB/s: 3.4 times 40 Gb/s, 6.9 times 20 Gb/s, 1.4 times 100 Gb/s."""
    (ecn,) = example(tmp_path, '"ecn"').notices()
    assert "defaults of ecn are those of its source (Zhu et al., 40 Gb/s); a node here has" in ecn
    assert 'mark_from = "17 kB", mark_all = "690 kB", increase = "34 MB"' in ecn
    assert 'additive_increase = "17 MB/s", hyper_increase = "170 MB/s"' in ecn
    (infiniband,) = example(tmp_path, '"infiniband"').notices()
    # A timer that counts packets runs as much faster: 153.6 us / 6.87.
    assert infiniband.endswith('In proportion: index_timer = "22 us"')
    for scheme in ('"hpcc"', SCHEMES["infiniband"], SCHEMES["slingshot"], SCHEMES["window"]):
        assert example(tmp_path, scheme).notices() == []
    slow = {"network.links.terminal.bandwidth": "5 GB/s"}
    assert example(tmp_path, '"ecn"').with_set(slow).notices() == []


def accepted(result: Result) -> float:
    """The share of what the victim offers that arrives."""
    (victim,) = (job for job in result.summary_dict["jobs"] if job["name"] == "victim")
    return float(victim["accepted_bytes_per_s"] / victim["offered_bytes_per_s"])


def test_the_victim_gets_nothing_like_its_share_without(tmp_path: Path) -> None:
    result = run(example(tmp_path, '"none"'))
    assert accepted(result) < 0.7
    assert result.table("held_pairs").num_rows == 0


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_scheme_protects_the_victim(tmp_path: Path, scheme: str) -> None:
    result = run(example(tmp_path, SCHEMES[scheme]))
    assert accepted(result) > 0.98
    held = result.table("held_pairs").to_pylist()
    causes = {pair["source_node"] for pair in held if pair["destination_node"] == 12}
    assert causes == set(range(8))
    out = StringIO()
    print_summary(Console(file=out, width=200), result, None)
    assert "Congestion control held back" in out.getvalue()


def test_results_do_not_depend_on_threads(tmp_path: Path) -> None:
    one = run(example(tmp_path, SCHEMES["ecn"]))
    threads = ("[simulation]", "[simulation]\nthreads = 2")
    two = run(example(tmp_path, SCHEMES["ecn"], threads))
    for name in ("held_pairs", "jobs", "links"):
        assert one.table(name).equals(two.table(name))


@pytest.mark.parametrize(
    ("scheme", "words"),
    [
        ('{ kind = "window", mark_all = "1 MB" }', ["mark_all", 'only with kind = "ecn"']),
        ('"cubic"', ["congestion_control", "slingshot"]),
        ('{ kind = "window", window = "0 B" }', ["congestion_control.window", "1 B"]),
        ('{ kind = "infiniband", threshold = 16 }', ["congestion_control.threshold", "15"]),
        ('{ kind = "ecn", mark_from = "300 kB" }', ["mark_from", "less than `mark_all`, 200 kB"]),
    ],
)
def test_flaws_name_their_key(tmp_path: Path, scheme: str, words: list[str]) -> None:
    with pytest.raises(ScenarioError) as caught:
        run(example(tmp_path, scheme))
    message = str(caught.value)
    assert all(word in message for word in words), message


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            ("[network.nic]", "[network.router]\ncrossbar = 1.5\n\n[network.nic]"),
            ["hold_from", "output_buffer", "occupancy"],
        ),
    ],
)
def test_what_does_not_go_together_is_refused(
    tmp_path: Path, change: tuple[str, str], words: list[str]
) -> None:
    with pytest.raises(ScenarioError) as caught:
        run(example(tmp_path, '"slingshot"', change))
    message = str(caught.value)
    assert all(word in message for word in words), message


@pytest.mark.parametrize("scheme", ["window", "ecn", "infiniband"])
def test_flows_refuse_schemes_that_timers_marks_or_windows_decide(
    tmp_path: Path, scheme: str
) -> None:
    with pytest.raises(ScenarioError, match='"none", "slingshot" or "hpcc"'):
        run(example(tmp_path, f'"{scheme}"', ("[simulation]", FLOWS)))


FLOWS = """[simulation]
engine = "flow\""""


@pytest.mark.parametrize(
    ("scheme", "share"),
    [
        # Eight have always something to send, and the ninth stands behind them: an eighth each.
        ("none", 1 / 8),
        # Nobody is in its way: what it offers.
        ("slingshot", 0.9),
        ("hpcc", 0.9),
    ],
)
def test_flows_see_an_incast_unless_senders_are_held_back(
    tmp_path: Path, scheme: str, share: float
) -> None:
    long = ('message = "64 KiB"', 'message = "1 MiB"'), ('buffer = "1 MiB"', 'buffer = "64 KiB"')
    file = example(tmp_path, f'"{scheme}"', ("[simulation]", FLOWS), ("2 ms", "9 ms"), *long)
    # Half of the job goes the other way, against the incast.
    assert accepted(run(file)) == pytest.approx((share + 0.9) / 1.8, rel=0.05)
