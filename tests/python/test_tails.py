"""Tail statistics: against closed forms, made mixtures, and SciPy's own results."""

import csv
import json
import re
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from command import call
from odonata.errors import SampleError
from odonata.tails import (
    correlate,
    dip_test,
    find_changes,
    find_modes,
    fit_families,
    measure_tail,
    read_samples,
)
from odonata.tails import fits as families
from odonata.tails.measures import hill, hill_plot


class _Here:
    """Fits in this process, at once."""

    def __init__(self, *_: object) -> None:
        """Takes what a pool of processes takes."""

    def __enter__(self) -> "_Here":
        return self

    def __exit__(self, *_: object) -> None:
        """There is nothing to end."""

    def submit(self, function: Callable[[str], object], name: str) -> Future[object]:
        done: Future[object] = Future()
        done.set_result(function(name))
        return done


@pytest.fixture
def fitted_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests of what a fit is: a process that fits takes a second to begin. Processes are tested
    with the family that takes too long, and with the interrupts.
    """
    monkeypatch.setattr(families, "ProcessPoolExecutor", _Here)


def test_measures_of_a_known_distribution() -> None:
    # Exponential of mean 1: median ln 2, p99 ln 100, above twice the median 1/4.
    samples = stats.expon.ppf((np.arange(20_000) + 0.5) / 20_000)
    tail = measure_tail(samples)
    assert tail.mean == pytest.approx(1, rel=1e-3)
    assert tail.median == pytest.approx(np.log(2), rel=1e-3)
    assert tail.p99 == pytest.approx(np.log(100), rel=1e-3)
    assert tail.above_twice_median == pytest.approx(0.25, abs=1e-3)
    assert tail.above_threshold == pytest.approx(0.15, abs=1e-3)
    assert tail.mean_median_gap == pytest.approx(1 / np.log(2) - 1, rel=1e-2)
    assert measure_tail(samples, threshold=2).above_threshold == pytest.approx(np.exp(-2), rel=1e-2)


@pytest.mark.parametrize("index", [1.2, 2.5, 4.0])
def test_hill_finds_the_index_of_a_pareto_tail(index: float) -> None:
    samples = stats.pareto(index).ppf((np.arange(20_000) + 0.5) / 20_000)
    found, error, used = hill(samples)
    assert used == 1_000
    assert found == pytest.approx(index, rel=0.02)
    assert error == pytest.approx(index / np.sqrt(1_000), rel=0.02)
    k, estimates = hill_plot(samples)
    assert k[0] == 10
    assert estimates[990] == pytest.approx(found, rel=0.01)


def test_dip_of_small_cases() -> None:
    # Evenly spaced samples are as uniform as can be: 1/2n. Two equal clumps: the middle of the
    # jump of 1/2 between them is as far as can be from any single mode, nearly 1/4.
    assert dip_test(np.arange(50.0))[0] == pytest.approx(1 / 100)
    assert dip_test(np.repeat([0.0, 1.0], 500))[0] == pytest.approx(0.25, abs=0.001)


def test_the_dip_test_keeps_its_level_and_finds_two_modes() -> None:
    random = np.random.default_rng(1)
    single = [dip_test(random.normal(size=300))[1] for _ in range(60)]
    # A normal distribution is further from two modes than the uniform reference is.
    assert np.mean(np.array(single) < 0.05) <= 0.05
    uniform = [dip_test(random.random(300))[1] for _ in range(200)]
    assert np.mean(np.array(uniform) < 0.1) == pytest.approx(0.1, abs=0.06)
    double = np.concatenate([random.normal(0, 1, 150), random.normal(5, 1, 150)])
    assert dip_test(double)[1] < 0.01
    # The statistic knows no unit.
    assert dip_test(double * 7 - 3)[0] == pytest.approx(dip_test(double)[0])
    assert dip_test(-double)[0] == pytest.approx(dip_test(double)[0])


def test_modes_and_their_shares() -> None:
    random = np.random.default_rng(2)
    samples = np.concatenate([random.lognormal(0, 0.1, 700), random.lognormal(1.5, 0.1, 300)])
    modes = find_modes(samples)
    assert modes.p < 0.01
    assert [mode.share for mode in modes.modes] == pytest.approx([0.7, 0.3], abs=0.01)
    assert [mode.centre for mode in modes.modes] == pytest.approx([1, np.exp(1.5)], rel=0.02)
    single = find_modes(random.lognormal(0, 0.3, 1_000))
    assert len(single.modes) == 1
    assert single.p > 0.05


#: Families whose samples another one with as many parameters cannot imitate too well.
FAMILIES = ("expon", "norm", "lognorm", "gamma", "weibull_min", "pareto", "gumbel_r", "logistic")
DRAWN = {
    "lognorm": stats.lognorm(0.8),
    "gamma": stats.gamma(3),
    "weibull_min": stats.weibull_min(1.7),
    "pareto": stats.pareto(2.5),
}


@pytest.mark.usefixtures("fitted_here")
@pytest.mark.parametrize("name", ["expon", "norm", "lognorm", "pareto", "gumbel_r"])
def test_families_are_recovered_from_their_own_samples(name: str) -> None:
    family = DRAWN.get(name) or getattr(stats, name)()
    samples = family.rvs(size=1_000, random_state=np.random.default_rng(3))
    fits = fit_families(samples, FAMILIES, processes=1)
    assert name in [fit.family for fit in fits[:3]]
    best = fits[0]
    frozen = getattr(stats, best.family)(*best.parameters.values())
    assert best.ks == pytest.approx(stats.kstest(samples, frozen.cdf).statistic)
    assert best.aic == pytest.approx(2 * len(best.parameters) - 2 * frozen.logpdf(samples).sum())


def test_twenty_families_are_found_again_as_often_as_is_said() -> None:
    """What docs/tails.md says of tails_families.py, of which these are the results."""
    root = Path(__file__).parents[2]
    with (root / "studies" / "data" / "tails_families.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    best = {by: sum(1 <= int(row[f"place_by_{by}"]) <= 5 for row in rows) for by in ("bic", "aic")}
    assert len({row["family"] for row in rows}) == 20
    assert best["bic"] >= 0.9 * len(rows)
    text = " ".join((root / "docs" / "tails.md").read_text(encoding="utf-8").split())
    assert f"{len(rows)} trials" in text
    assert f"in {best['bic']} by BIC and in {best['aic']} by AIC" in text


@pytest.mark.usefixtures("fitted_here")
def test_what_is_no_density_is_no_fit() -> None:
    # A von Mises distribution repeats itself along the line for ever, so that it holds samples of
    # anything better than what has 1 to share out.
    samples = stats.gamma(3).rvs(size=300, random_state=np.random.default_rng(3))
    best, circular = fit_families(samples, ["vonmises", "gamma"], processes=1)
    assert best.family == "gamma" and not best.failure
    assert re.fullmatch(r"the fitted density is \d+ in all, not 1", circular.failure)


@pytest.mark.usefixtures("fitted_here")
def test_one_distribution_by_several_names_has_one_place() -> None:
    samples = stats.gamma(3).rvs(size=300, random_state=np.random.default_rng(3))
    names = ["erlang", "norm", "gamma", "pearson3"]
    fits = fit_families(samples, names, processes=1)
    assert fits[1].family == "norm"
    assert {fits[0].family, fits[2].family, fits[3].family} == {"erlang", "gamma", "pearson3"}
    assert [fit.same_as for fit in fits] == ["", "", fits[0].family, fits[0].family]
    assert fits[2].aic == pytest.approx(fits[0].aic, abs=0.1)


def test_a_family_that_takes_too_long_is_named() -> None:
    samples = np.random.default_rng(4).random(200)
    fits = fit_families(samples, ["studentized_range", "norm"], time_limit_s=0.3, processes=1)
    assert [fit.family for fit in fits] == ["norm", "studentized_range"]
    assert fits[1].failure == "not done within 0.3 s"


def test_correlations_are_scipys() -> None:
    random = np.random.default_rng(5)
    x = random.random(22)
    y = x**2 + 0.2 * random.random(22)
    found = correlate(x, y)
    assert found.pearson == pytest.approx(stats.pearsonr(x, y).statistic)
    assert found.pearson_p == pytest.approx(stats.pearsonr(x, y).pvalue)
    assert found.spearman == pytest.approx(stats.spearmanr(x, y).statistic)
    assert found.spearman_p == pytest.approx(stats.spearmanr(x, y).pvalue)
    assert found.pearson_low < found.pearson < found.pearson_high
    assert found.spearman_low < found.spearman < found.spearman_high <= 1
    perfect = correlate([1, 2, 3, 4], [1, 2, 3, 40])
    assert (perfect.spearman, perfect.spearman_high) == (1, 1)


def test_files(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("1 2 # start\n3.5\n")
    assert read_samples(tmp_path / "a.txt").tolist() == [1, 2, 3.5]
    (tmp_path / "a.csv").write_text("b,time\n0.1,5\n0.2,6\n")
    assert read_samples(tmp_path / "a.csv", "time").tolist() == [5, 6]
    for text, column, says in [
        ("b,time\n0.1,5\n", None, "which column"),
        ("b,time\n0.1,x\n", "time", "line 2: found 'x'"),
        ("b,time\n0.1\n", "time", "line 2: found ''"),
        ("b,time\n0.1,5\n", "no", "no column 'no'"),
        ("", None, "empty"),
        ("1 2\n3 x\n", None, "line 2: found 'x'"),
    ]:
        (tmp_path / "b.csv").write_text(text)
        with pytest.raises(SampleError) as error:
            read_samples(tmp_path / "b.csv", column)
        assert says in str(error.value)
    with pytest.raises(SampleError, match="cannot be read"):
        read_samples(tmp_path / "none.csv")


@pytest.mark.parametrize(
    "wrong", [[], [1.0], [1.0, float("nan")] * 20, [float("inf")] * 20], ids=str
)
def test_too_few_or_infinite_samples_are_refused(wrong: list[float]) -> None:
    with pytest.raises(SampleError):
        measure_tail(wrong)


@pytest.mark.usefixtures("fitted_here")
def test_the_command(tmp_path: Path) -> None:
    random = np.random.default_rng(6)
    b = random.random(400)
    times = 1 + b + random.lognormal(-2, 1, 400)
    lines = "\n".join(f"{x},{y}" for x, y in zip(b, times, strict=True))
    (tmp_path / "s.csv").write_text(f"b,time\n{lines}\n")
    command = ["tails", "s.csv", "--column", "time", "--against", "b"]
    command += ["--family", "lognorm", "--family", "norm"]
    done = call(*command, "--json", directory=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["fits"][0]["family"] == "lognorm"
    assert found["correlation"]["count"] == 400
    assert found["tail"]["count"] == 400
    picture = tmp_path / "tail.svg"
    done = call(*command, "--out", str(picture), directory=tmp_path)
    assert "Spearman" in done.stdout
    assert picture.read_bytes().startswith(b"<?xml")


def test_netgauge_tables_and_node_counts_are_read(tmp_path: Path) -> None:
    from odonata.tails.netgauge import read_blocks, read_node_counts

    text = "#size\trtt\n1\t2.5\n1\t3.5\n#size\trtt\n1\t4.5\n"
    assert [block.tolist() for block in read_blocks(text, repetitions=2)] == [[2.5, 3.5], [4.5]]
    (tmp_path / "noise.out").write_text(text)
    assert read_samples(tmp_path / "noise.out", "rtt").tolist() == [2.5, 3.5, 4.5]
    with pytest.raises(SampleError, match=r"which column\? --column takes one of: size, rtt"):
        read_samples(tmp_path / "noise.out")
    (tmp_path / "noise.out").write_text(text + "1\tnan?\n")
    with pytest.raises(SampleError, match="line 6: found 'nan\\?' in `rtt`"):
        read_samples(tmp_path / "noise.out", "rtt")
    with pytest.raises(SampleError, match="line 2: found '1 2 3'"):
        read_blocks("#size rtt\n1 2 3\n")
    with pytest.raises(SampleError, match="no times"):
        read_blocks("#size rtt\n")
    counts = read_node_counts("# day\n#Time Act\n01:00:00\t6\t1\t1\t8\n01:00:10 2 5 1 8\n")
    assert counts.share_at([3600, 3605, 9999]).tolist() == [0.75, 0.5, 0.25]
    with pytest.raises(SampleError, match="no line of a time and four counts"):
        read_node_counts("nothing")


def test_changes_are_where_they_were_made() -> None:
    random = np.random.default_rng(7)
    # Twice as slow from the 300th to the 500th of 800, with long tails throughout.
    samples = random.lognormal(0, 0.4, 800)
    samples[300:500] *= 2
    found = find_changes(samples)
    # Bai (1997): 95 % of the places are within 11 (σ/δ)² of the true one, here 0.4 / ln 2: 3.7.
    assert [change.index for change in found] == pytest.approx([300, 500], abs=4)
    assert [change.p for change in found] == [0.001, 0.001]
    assert found[0].before == pytest.approx(1, rel=0.1)
    assert found[0].after == found[1].before == pytest.approx(2, rel=0.1)
    # Times say what the order is, and samples of one time count as one, whatever is among them.
    hours = np.repeat(np.arange(20.0), 40)
    mixed = random.permutation(800)
    slow = np.where((hours >= 7) & (hours < 14), 2.0, 1.0) * random.lognormal(0, 0.3, 800)
    assert [change.at for change in find_changes(slow[mixed], hours[mixed])] == [7, 14]


def test_of_a_hundred_series_without_change_one_has_one() -> None:
    random = np.random.default_rng(8)
    found = sum(bool(find_changes(random.pareto(1.1, 40))) for _ in range(300))
    # Binomial with p = 0.01: beyond 9 in one of a thousand.
    assert found <= 9
    assert find_changes(np.ones(30)) == []
    with pytest.raises(SampleError, match="samples of 3 moments"):
        find_changes(np.arange(30.0), np.repeat([1.0, 2.0, 3.0], 10))
    with pytest.raises(SampleError, match="30 samples of 29 times"):
        find_changes(np.arange(30.0), np.arange(29.0))


def probes(path: Path) -> None:
    """A table as of `odonata cluster probes --times`: bcast goes with b, reduce does not."""
    random = np.random.default_rng(9)
    lines = ["time_s,collective,bytes,b,time_us"]
    for run in range(24):
        b = float(random.random())
        for collective in ("bcast", "reduce"):
            for size in (1024, 4):
                slower = 1 + 2 * b if collective == "bcast" else 1.0
                slower *= 3 if collective == "reduce" and size == 4 and run >= 12 else 1
                time = size * slower * random.lognormal(0, 0.05)
                lines.append(f"{run},{collective},{size},{b:.6f},{time:.6f}")
    path.write_text("\n".join(lines))


def test_tables_by_what_their_columns_say(tmp_path: Path) -> None:
    probes(tmp_path / "p.csv")
    ask = ["tails", "p.csv", "--column", "time_us", "--by", "collective", "--by", "bytes"]
    done = call(*ask, "--against", "b", "--over", "time_s", "--json", directory=tmp_path)
    assert done.returncode == 0, done.stderr
    groups = {tuple(group["by"].values()): group for group in json.loads(done.stdout)["groups"]}
    # As they come, numbers in their order.
    assert list(groups) == [
        *(("bcast", "4"), ("bcast", "1024"), ("reduce", "4"), ("reduce", "1024")),
    ]
    rows = [line.split(",") for line in (tmp_path / "p.csv").read_text().splitlines()[1:]]
    for (collective, size), group in groups.items():
        own = np.array([row[3:] for row in rows if row[1:3] == [collective, size]], dtype=float)
        assert group["correlation"] == correlate(own[:, 0], own[:, 1]).to_dict()
        assert group["tail"] == measure_tail(own[:, 1]).to_dict()
    assert groups["bcast", "4"]["correlation"]["pearson_low"] > 0.9
    assert [change["at"] for change in groups["reduce", "4"]["changes"]] == [12]
    done = call(*ask, "--against", "b", directory=tmp_path)
    assert "4 correlations: one in twenty" in done.stdout
    # Numbers of more than twelve values are cut at their thirds: 24 runs, 2 sizes, 8 runs each.
    thirds = ["tails", "p.csv", "--column", "time_us", "--by", "collective", "--by", "b", "--json"]
    found = json.loads(call(*thirds, directory=tmp_path).stdout)["groups"]
    assert [group["tail"]["count"] for group in found] == [16] * 6
    assert all(re.fullmatch(r"0\.\d+ to 0\.\d+", group["by"]["b"]) for group in found)


def test_groups_of_which_nothing_can_be_told_say_why(tmp_path: Path) -> None:
    lines = "".join(f"a,{value},1\n" for value in range(1, 31)) + "b,1,1\n"
    (tmp_path / "t.csv").write_text(f"kind,time,b\n{lines}")
    ask = ["tails", "t.csv", "--column", "time", "--by", "kind"]
    found = json.loads(call(*ask, "--json", directory=tmp_path).stdout)["groups"]
    assert found[0]["tail"]["count"] == 30
    assert found[1]["why_not"] == "found 1 samples; allowed: at least 2"
    assert "b: found 1 samples" in call(*ask, directory=tmp_path).stdout
    # What is asked of all, and can be told of none, is said for each.
    answer = call(*ask, "--against", "b", directory=tmp_path).stdout
    assert "a: the first series is constant" in answer
    (tmp_path / "n.txt").write_text("1\n2\n3\n")
    for options, says in [
        (["t.csv", "--column", "time", "--column", "b"], "several --column need --by"),
        (["t.csv", "--column", "time", "--by", "place"], "no column 'place'"),
        (["n.txt", "--by", "place"], "has no columns"),
    ]:
        done = call("tails", *options, directory=tmp_path)
        assert done.returncode == 2
        assert says in done.stderr


def test_latencies_of_a_run_by_job(tmp_path: Path) -> None:
    scenario = """
network = { family = "dragonfly", p = 2, a = 4, h = 2, routing = "minimal" }
simulation = { duration = "20 us" }
record = { messages = "all" }
[[job]]
name = "near"
nodes = 8
traffic = { pattern = "uniform-random", message = "1 KiB", load = 0.1 }
[[job]]
name = "far"
nodes = 24
traffic = { pattern = "uniform-random", message = "1 KiB", load = 0.1 }
"""
    (tmp_path / "s.toml").write_text(scenario)
    done = call("run", "s.toml", "--out", "r", "--no-plots", directory=tmp_path)
    assert done.returncode == 0, done.stderr
    done = call("tails", "r", "--by", "job", "--json", "--out", "t.png", directory=tmp_path)
    assert done.returncode == 0, done.stderr
    groups = json.loads(done.stdout)["groups"]
    whole = json.loads(call("tails", "r", "--json", directory=tmp_path).stdout)
    assert sum(group["tail"]["count"] for group in groups) == whole["tail"]["count"] > 100
    assert len(groups) == 2
    assert (tmp_path / "t.png").stat().st_size > 10_000


@pytest.mark.usefixtures("fitted_here")
@pytest.mark.parametrize(
    "options",
    [
        ["--by", "collective", "--by", "bytes", "--against", "b"],
        ["--by", "collective", "--by", "bytes"],
        ["--by", "bytes", "--family", "norm"],
        ["--over", "time_s"],
    ],
    ids=["correlations", "densities", "fits", "over time"],
)
def test_pictures(tmp_path: Path, options: list[str]) -> None:
    probes(tmp_path / "p.csv")
    ask = ["tails", "p.csv", "--column", "time_us", "--out", "p.svg", *options]
    done = call(*ask, directory=tmp_path)
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "p.svg").read_text()
    panels = {"--against": 4, "--over": 4, "--family": 2}
    expected = next((n for option, n in panels.items() if option in options), 4)
    assert text.count('id="axes_') == expected
