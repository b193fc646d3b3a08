"""Long tails that were measured elsewhere: the figure and tables of pages/study-tails-measured.md.

    .venv/bin/python studies/scripts/tails_measured.py    # a minute; needs ../shared/data

Leaves pages/figures/study-tails-measured.png and data/tails_measured.csv and prints the
tables. Where the data are absent it says so and changes nothing.
"""

from __future__ import annotations

import io
import tarfile
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from odonata.errors import OdonataError
from odonata.plots.style import JOB_COLOURS, new_figure, plain_powers, save, style
from odonata.tails import correlate, find_modes, fit_families, measure_tail
from odonata.tails.netgauge import NodeCounts, read_blocks, read_node_counts
from odonata_live.cluster.evaluation import evaluate
from odonata_live.cluster.outcomes import Kind, Outcome
from odonata_studies.rows import beside, write_rows

HOME = Path(__file__).resolve().parents[1]
DATA = "shared/data"
#: Folder, name, file of node counts.
CAMPAIGNS = (
    (
        "daint_mc_rush_hours_same_rack_default",
        "Piz Daint, same rack, rush",
        "daint_same_rack_rush_hours_nodes",
    ),
    (
        "daint_mc_quiet_hour_diff_rack_default",
        "Piz Daint, different racks, quiet",
        "daint_diff_rack_quiet_hour_nodes",
    ),
    (
        "daint_mc_rush_hours_diff_rack_default",
        "Piz Daint, different racks, rush",
        "daint_diff_rack_rush_2022_03_28_nodes",
    ),
    ("daint", "Piz Daint, May", None),
    ("alps", "Alps", None),
)
QUANTITIES = {"lat": "1 B, µs", "bw": "16 MiB, µs"}
FAMILIES = (
    *("lognorm", "gamma", "invgauss", "weibull_min", "genextreme", "invgamma", "burr12", "fisk"),
    *("genpareto", "loglaplace", "johnsonsu", "norm"),
)


@dataclass
class Campaign:
    """An hour or more of one pair of nodes."""

    name: str
    blocks: dict[str, list[NDArray[np.float64]]]
    times_s: dict[str, NDArray[np.float64]]
    start: datetime
    counts: NodeCounts | None


def read(data: Path) -> list[Campaign]:
    """All campaigns, in the order of the table."""
    found = []
    for folder, name, counted in CAMPAIGNS:
        (archive,) = (data / "network-noise" / folder).glob("*.tar.xz")
        start = datetime.strptime(archive.name.split(".")[0], "%Y_%m_%d_%H_%M_%S")
        start = start.replace(tzinfo=timezone.utc)
        blocks, times = {}, {}
        with tarfile.open(archive) as packed:
            for member in packed.getmembers():
                for kind in QUANTITIES:
                    if member.name.endswith(f"ng_netnoise_mpi_{kind}.out"):
                        file = packed.extractfile(member)
                        assert file is not None
                        blocks[kind] = read_blocks(file.read().decode(), member.name)
                        # The name has local time, the last change is in UTC: whole hours differ.
                        lasted = (member.mtime - start.timestamp()) % 3600 + 3600 * (
                            (member.mtime - start.timestamp()) % 3600 < 1800
                        )
                        count = len(blocks[kind])
                        begin = start.hour * 3600 + start.minute * 60 + start.second
                        times[kind] = begin + lasted * (np.arange(count) + 0.5) / count
        counts = None
        if counted is not None:
            text = (data / "network-noise" / folder / counted).read_text()
            counts = read_node_counts(text, counted)
        found.append(Campaign(name, blocks, times, start, counts))
    return found


def smooth(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Times within the step of the clock that they were read from.

    The clock's steps would look like modes.
    """
    known, counts = np.unique(values, return_counts=True)
    step = float(np.median(np.diff(known[counts > 20])))
    chance = np.random.default_rng(0)
    return values + step * (chance.random(len(values)) - 0.5)


def table(campaigns: list[Campaign], rows: list[dict[str, object]]) -> None:
    """Tails of each campaign, and how much goes with the share of nodes given away."""
    quiet = {kind: np.concatenate(campaigns[1].blocks[kind]) for kind in QUANTITIES}
    limits = {kind: float(np.quantile(values, 0.85)) for kind, values in quiet.items()}
    for kind in QUANTITIES:
        print(f"\n{kind} | median | p85 | p99 | max | > 2 median | above quiet p85 | Hill | dip p")
        for one in campaigns:
            values = np.concatenate(one.blocks[kind])
            tail = measure_tail(values, limits[kind])
            modes = find_modes(smooth(values)[:: max(len(values) // 2000, 1)])
            rows.append(
                {"table": "tails", "data": one.name, "quantity": kind, **tail.to_dict()}
                | {"dip_p": modes.p}
            )
            print(
                f"{one.name} | {tail.median:.4g} | {tail.p85:.4g} | {tail.p99:.4g} | "
                f"{tail.maximum:.4g} | {100 * tail.above_twice_median:.1f} % | "
                f"{100 * tail.above_threshold:.1f} % | {tail.hill:.2f} | {modes.p:.3f} | "
                + ", ".join(f"{100 * m.share:.0f} % at {m.centre:.3g}" for m in modes.modes)
            )
    print("\nshare of nodes against each block: Pearson (95 %) | Spearman (95 %) of mean, p99")
    for one in campaigns:
        if one.counts is None:
            continue
        for kind in QUANTITIES:
            share = one.counts.share_at(one.times_s[kind])
            answer = []
            for what, values in (
                ("mean", [float(block.mean()) for block in one.blocks[kind]]),
                ("p99", [float(np.quantile(block, 0.99)) for block in one.blocks[kind]]),
            ):
                c = correlate(share, values)
                rows.append(
                    {"table": "correlation", "data": one.name, "quantity": f"{kind} {what}"}
                    | c.to_dict()
                )
                answer.append(
                    f"{what}: r {c.pearson:+.2f} ({c.pearson_low:+.2f} to {c.pearson_high:+.2f}) "
                    f"ρ {c.spearman:+.2f} ({c.spearman_low:+.2f} to {c.spearman_high:+.2f})"
                )
            print(
                f"{one.name} {kind} n {len(share)} share {share.min():.3f} to {share.max():.3f} | "
                + " | ".join(answer)
            )


def predict(campaigns: list[Campaign], rows: list[dict[str, object]]) -> None:
    """Brier scores of long-tailed blocks, within each hour and over all three."""
    counted = [one for one in campaigns if one.counts is not None]
    sets = {one.name: [one] for one in counted}
    sets["all three, in order of time"] = sorted(counted, key=lambda one: one.start)
    print("\nprediction | blocks | long | model | b threshold | base rate | advantage | interval")
    for name, chosen in sets.items():
        outcomes = []
        for one in chosen:
            assert one.counts is not None
            midnight = one.start.timestamp() - one.times_s["lat"][0] // 86400 * 86400
            midnight -= one.start.hour * 3600 + one.start.minute * 60 + one.start.second
            for kind, size in (("lat", 1), ("bw", 1 << 24)):
                share = one.counts.share_at(one.times_s[kind])
                for at, b, block in zip(one.times_s[kind], share, one.blocks[kind], strict=True):
                    what = Kind("ping-pong", size, "any", 2)
                    outcomes.append(
                        Outcome(midnight + at, what, {"b": float(b)}, float(block.mean()))
                    )
        try:
            judged = evaluate(outcomes)
        except OdonataError as error:
            print(f"{name} | {error}")
            continue
        rows.append({"table": "prediction", "data": name, "quantity": "mean of 1,000"})
        rows[-1] |= {
            "count": judged.runs,
            "long_share": judged.long_share,
            "brier_model": judged.model.brier,
            "brier_b_threshold": judged.b_threshold.brier,
            "brier_base_rate": judged.base_rate.brier,
            "advantage_low": judged.advantage_low,
            "advantage_high": judged.advantage_high,
            "coverage": judged.coverage,
        }
        print(
            f"{name} | {judged.runs} | {100 * judged.long_share:.0f} % | {judged.model.brier:.4f} "
            f"| {judged.b_threshold.brier:.4f} | {judged.base_rate.brier:.4f} | "
            f"{judged.advantage:+.4f} ({judged.advantage_low:+.4f} to {judged.advantage_high:+.4f})"
            f" | {100 * judged.coverage:.0f} %"
        )


def families(campaigns: list[Campaign], rows: list[dict[str, object]]) -> None:
    """Which of a dozen families fits each best, by AIC and by KS."""
    print("\nfamilies by AIC (KS)")
    for one in campaigns:
        for kind in QUANTITIES:
            fits = fit_families(np.concatenate(one.blocks[kind]), FAMILIES, processes=1)
            best = [fit for fit in fits if not fit.failure][:3]
            for place, fit in enumerate(best, 1):
                rows.append(
                    {"table": "families", "data": one.name, "quantity": kind, "count": place}
                    | {"family": fit.family, "ks": fit.ks}
                )
            answer = ", ".join(f"{fit.family} ({fit.ks:.3f})" for fit in best)
            print(f"{one.name} {kind} | {answer}")


def collectives(data: Path, rows: list[dict[str, object]]) -> None:
    """Tails of collectives on Piz Daint, Leonardo and LUMI."""
    print("\ncollectives | iterations | median | p99 / median | > 2 median | Hill")
    (archive,) = (data / "network-noise" / "daint__collectives").glob("*.tar.xz")
    sets: list[tuple[str, NDArray[np.float64]]] = []
    with tarfile.open(archive) as packed:
        for member in sorted(packed.getmembers(), key=lambda m: m.name):
            name = Path(member.name).stem
            if name.endswith(("_16_16", "_16_16384", "_16_16777216")):
                file = packed.extractfile(member)
                assert file is not None
                # Each line: size, and every rank's own duration, µs.
                numbers = np.loadtxt(io.BytesIO(file.read()), comments="#")
                sets.append((f"Piz Daint {name}", numbers[:, 1:].max(axis=1)))
    for machine, stamp, folder in (
        ("Leonardo", "leonardo/2025_03_28___18_19_43", "0"),
        ("LUMI", "lumi/2025_04_07___16_22_51", "0"),
    ):
        with tarfile.open(data / "hardware-collectives" / f"{stamp}.tar.gz") as packed:
            for member in sorted(packed.getmembers(), key=lambda m: m.name):
                path = Path(member.name)
                if path.parent.name == folder and "_default_" in path.name:
                    file = packed.extractfile(member)
                    assert file is not None
                    lines = file.read().decode().split()
                    values = np.array([float(word) for word in lines if word[0].isdigit()]) / 1e3
                    if len(values) >= 1000:
                        sets.append((f"{machine} {path.stem}", values))
    for name, values in sets:
        tail = measure_tail(values)
        rows.append({"table": "collectives", "data": name, "quantity": "µs", **tail.to_dict()})
        answer = "" if tail.hill is None else f"{tail.hill:.2f}"
        print(
            f"{name} | {tail.count} | {tail.median:.4g} | {tail.p99_over_p50:.2f} | "
            f"{100 * tail.above_twice_median:.2f} % | {answer}"
        )


def draw(campaigns: list[Campaign]) -> None:
    """Complementary distributions, and each block beside the share of nodes given away."""
    with style():
        figure = new_figure(11.0, 3.8)
        axes = figure.subplots(1, 3)
        for axis, (kind, unit) in zip(axes, QUANTITIES.items(), strict=False):
            for colour, one in zip(JOB_COLOURS, campaigns, strict=False):
                values = np.sort(np.concatenate(one.blocks[kind]))
                above = 1 - np.arange(len(values)) / len(values)
                # As many points as can be seen, all of them at the end.
                shown = np.unique(
                    np.r_[np.geomspace(1, len(values), 2000).astype(int) - 1, len(values) - 1]
                )
                shown = len(values) - 1 - shown
                axis.plot(values[shown], above[shown], color=colour, label=one.name)
            axis.set_xscale("log")
            axis.set_yscale("log")
            plain_powers(axis.xaxis, axis.yaxis)
            size, _, _ = unit.partition(",")
            axis.set_title(size)
            axis.set_xlabel(f"Half round trip of {size} [µs]")
        axes[0].set_ylabel("Share of messages that take longer")
        for colour, one in zip(JOB_COLOURS, campaigns, strict=False):
            if one.counts is not None:
                share = one.counts.share_at(one.times_s["lat"])
                means = [float(block.mean()) for block in one.blocks["lat"]]
                axes[2].plot(share, means, "o", markersize=3, color=colour, alpha=0.6)
        axes[2].legend(*axes[0].get_legend_handles_labels(), loc="upper left", fontsize=6.5)
        axes[2].set_yscale("log")
        plain_powers(axes[2].yaxis)
        axes[2].set_title("1,000 messages of 1 B")
        axes[2].set_xlabel("Share of nodes given away")
        axes[2].set_ylabel("Mean [µs]")
    save(figure, HOME / "pages/figures/study-tails-measured.png")


def main() -> None:
    """Reads, prints, draws, keeps."""
    noise = beside(f"{DATA}/network-noise")
    if noise is None:
        return
    data = noise.parent
    campaigns = read(data)
    rows: list[dict[str, object]] = []
    table(campaigns, rows)
    predict(campaigns, rows)
    collectives(data, rows)
    draw(campaigns)
    families(campaigns, rows)
    rows = [
        {key: f"{x:.6g}" if isinstance(x, float) else x for key, x in row.items()} for row in rows
    ]
    write_rows(HOME / "data/tails_measured.csv", rows)


if __name__ == "__main__":
    main()
