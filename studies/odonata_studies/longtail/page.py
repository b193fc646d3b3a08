"""The study's page."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from odonata.study.findings import FEWEST
from odonata_studies.longtail import machine
from odonata_studies.longtail.drawing import FIGURES
from odonata_studies.longtail.families import BestFits
from odonata_studies.longtail.findings import (
    PAPER_POINTS,
    Finding,
    application_rise,
    application_times,
    in_words,
    month_means,
    size_of,
    slow_share,
    title_of,
)
from odonata_studies.longtail.months import APPLICATIONS
from odonata_studies.longtail.plan import FIGURE_6, HIGH, LOW, PACKED, ROUTINGS, Found
from odonata_studies.longtail.predictors import culprits, forecasts, indicators
from odonata_studies.longtail.probes import (
    COLLECTIVES,
    LARGE,
    PING_PONG,
    SECOND,
    SIZES,
    Setting,
    scatter_of,
)
from odonata_studies.longtail.statistics import (
    estimate_pairs,
    least_r,
    pearson,
    share_not_seen,
    spearman,
    two_modes,
)

#: What is simulated, and where every number is from.
TEXT = """\
M. Salimi Beni and B. Cosenza (*An Analysis of Long-tailed Network Latency Distribution and Background
Traffic on Dragonfly+*, 2022) measured collectives of MPI on 16 nodes of Marconi100 for three months, and
related their times to the *background network utilisation* b: the share of the machine's nodes that
other jobs of more than one node occupy (their equation 2; [how to measure it](../../docs/cluster-utilisation.md)). Here
the same is done on a simulated machine, where routing can be changed and every link can be observed.

## What is simulated

| what | value | from | where, why |
|---|---|---|---|
| nodes | 980 in 4 islands, at most 20 at a leaf switch | the paper | 3.1, 3.2, 4.1 |
| links | EDR, 12.5 GB/s | the paper | 3.2 |
| leaf and spine switches of an island | 13 and 16, each leaf joined to each spine once | an assumption | 245 nodes need 13 leaves; an EDR switch has 36 ports, so 16 are left at a leaf |
| links between islands | 6 from each spine, 2 to each other island: 96 from an island, half of what its leaves have | an assumption | 1 : 1 and 4 : 1 are experiments |
| switches | 90 ns, 64 KiB of buffer at each input and virtual channel | an assumption | the delay is the one stated for EDR switches |
| cables | 20, 25, 150 ns | an assumption | as for [Leonardo](../../docs/machines.md) |
| packets | 16 KiB | an assumption | EDR has 4 KiB, which would cost four times as much to simulate; they are an experiment |
| routing | adaptive in every router (`fpar`), for every packet | the paper | "adaptive routing" (3.2), which on a dragonfly+ means this one (Shpiner et al. 2017); others are compared |
| MPI: algorithms | those of Open MPI | an assumption | Spectrum MPI (3.2) is based on Open MPI; the algorithms of MPICH are an experiment |
| MPI: costs of a message | as on Leonardo, eager up to 8 KiB | an assumption | calibrated on [another machine](../../docs/machines.md) |
| combining in reductions | 11 GB/s | an assumption | as on Leonardo; 1.2 GB/s is an experiment |
| probe | one rank on each of 16 nodes: at one leaf; on the leaves of one island; four on each island, all on different leaves | the paper | 4.1 |
| ping-pong | between the first and the last of these nodes, there and back | an assumption | the paper does not say between which nodes (5.2); the first and the second are an experiment |
| scatter of ping-pongs | none; an experiment has 34 % of a mean of 1,000 up to 1 KiB and 4 % above | other measurements | Piz Daint, different racks, a quiet hour (DanieleDeSensi/cloud_noise_data): standard deviation over mean of 208 means |
| a call | a barrier, then the collective; its time is that of its slowest rank | an assumption | the paper does not say whose time it takes |
| pause before a call | 100 µs | an assumption | the paper waits 1 ms, which is an experiment |
| calls | as many as fit in the simulated time, not 1,000 | an assumption | a simulated second costs minutes |
| moments | 88 from three months; for each b that is looked at, the 16 nearest to it | an assumption | the paper has 22, and one for each b |
| background jobs: nodes | half have one node; the others are as large as the jobs of a week on Leonardo | other measurements | "many jobs that only allocate one node" (5.1); HLC-Lab/pico, 2,215 jobs |
| background jobs: time | as long as 23,911 jobs of Theta in 2022 | other measurements | public job logs of the Argonne Leadership Computing Facility |
| background jobs: when | at random; users ask for 5 to 90 % of the machine, a different share every day | an assumption | so that b covers the range that the paper saw |
| background jobs: where | in as many islands as jobs of their size have cells on Leonardo, on any nodes there; never on the probe's nodes | other measurements | HLC-Lab/pico. By the paper's account of Slurm (4.1) they are packed much closer, which is an experiment |
| background jobs: what they send | AMG2013, LULESH, miniAMR, miniFE or miniMD, equally likely: to six neighbours in a 3-D grid of the job's nodes, all at once | other measurements | mpiP with 64 ranks on a node (CNCA-CeNAT/comm-patterns-clustering); a node's ranks are 4 × 4 × 4, and the 16 of each face send to the next node |
| | 12^(2/3) times the bytes that were measured, as often | an assumption | a node with four V100 is taken as 12 of the nodes on which they were measured, with a problem 12 times as large; three times the bytes is an experiment |

None of these values is fitted to a finding.

A simulation has the jobs of one moment of the three months, each job somewhere between two of its exchanges. Moments
are what other studies call seeds: each moment has its own jobs, places, phases of exchanges and random routes, but
moments less than a day or so apart share some jobs. The queue, the draws and the moments follow from one seed; nothing
needs data from elsewhere. All of this was fixed before any finding was computed; only trials of what a run costs, which
are the reason for such large packets, had shown the times of some calls. Noise of operating systems, traffic to storage
and other software on the probe's nodes are not simulated.
"""

#: What was published and is not simulated, with the reason.
LACKING = (
    "1,000 iterations of each collective: a simulated second costs minutes.",
    "Which families of distributions fit best (section 4): the paper names none, so there is "
    "nothing to compare; ours are in a table of their own.",
    "Noise of operating systems and of other software on the probe's nodes, and traffic to "
    "storage: nothing is published on either for this machine. In one group, where nothing else "
    "disturbs, all calls of a kind therefore take equally long.",
    "That Alltoall's distribution in one group is like Reduce's (section 6): all calls there take "
    "equally long.",
    "The shapes of HACC's distributions (figure 6a): three iterations fit in a simulation.",
    "That b was between 0.40 and 0.70 most of the time (section 6): how busy the machine is, is an "
    "assumption here.",
    "That b changes by less than 5 points during a measurement (section 5.1): jobs do not begin "
    "or end during a simulation. For measured queues see [utilisation](../../docs/cluster-utilisation.md).",
)


def page(
    found: Found,
    findings: Sequence[Finding],
    figures: Sequence[str],
    fits: Sequence[BestFits],
    *,
    command: str,
    total: int,
) -> str:
    """The page as Markdown: findings, experiments, and what the paper could not do.

    Args:
        found: What was simulated.
        findings: Of it.
        figures: Files of the pictures.
        fits: Of the distributions, if families were fitted to them.
        command: That writes the page.
        total: Simulations that belong to the study.
    """
    done = len(found.records)
    parts = [
        "# Long tails and background traffic on a dragonfly+ (Salimi Beni and Cosenza 2022)\n",
        TEXT,
        f"Written by `{command}`: {done} of {total} simulations.\n",
        _background(),
        _findings(findings),
        *_correlations(found),
        _ping_pong(found),
        _by_setting(found),
        _applications(found),
        *_predictors(found),
        _culprits(found),
        _families(fits),
        "## Published, and not here\n",
        "\n".join(f"- {what}" for what in LACKING) + "\n",
        "## Figures\n",
        *(f"![{FIGURES[name][0]}]({name})\n" for name in figures),
    ]
    return "\n".join(part for part in parts if part) + "\n"


def _background() -> str:
    lines = [
        "## The background's applications\n",
        "| application | message to each of six neighbours | every | of a node |",
        "|---|--:|--:|--:|",
    ]
    lines += [
        f"| {a.name} | {a.message_bytes / 1e6:.2f} MB | {a.interval_us / 1e3:.1f} ms | "
        f"{a.bytes_per_s / 1e9:.2g} GB/s |"
        for a in APPLICATIONS
    ]
    return "\n".join(lines) + "\n"


def _findings(findings: Sequence[Finding]) -> str:
    lines = [
        "## Published findings beside ours\n",
        "*Holds*: all of our 95 % interval lies in the published range; *does not hold*: none of "
        "it does; *undecided*: a part of it does, the interval is not known, or there are fewer than "
        f"{FEWEST} moments. A published figure may be off by half of its last digit. Intervals over "
        "the moments near one value of b are Student's, those of ratios Welch's on logarithms; "
        "intervals of correlations over all moments and of largest values are bootstrapped. Two "
        "modes have to show in all moments but one, each moment being left out in turn.\n",
        "| # | finding | source | published | ours | moments | verdict |",
        "|--:|---|---|---|---|--:|---|",
    ]
    lines += [
        f"| {n} | {f.claim} | {f.source} | {f.published} | {f.ours} | {f.moments} | "
        f"**{f.verdict}** |"
        for n, f in enumerate(findings, 1)
    ]
    return "\n".join(lines) + "\n"


def _correlations(found: Found) -> Iterator[str]:
    for intensity in found.plan.extent.intensities:
        moments, means = month_means(found, found.plan.month(intensity))
        if len(moments) < 4:
            continue
        b = np.array([moment.b for moment in moments])
        words = "" if intensity == 1 else f", jobs sending {intensity:g} × as much"
        lines = [
            f"## Correlation of b with mean times{words}\n",
            f"{len(moments)} moments, with b from {b.min():.2f} to {b.max():.2f}. With "
            f"{len(moments)} points an |r| above {least_r(len(moments)):.2f} differs from 0 at the "
            "5 % level in a single test; the table has sixteen.\n",
            "| collective | size | median of the mean times | r | ρ |",
            "|---|--:|--:|--:|--:|",
        ]
        for name in COLLECTIVES:
            for size in SIZES:
                y = means[name, size]
                r = estimate_pairs(pearson, b, y)
                rho = estimate_pairs(spearman, b, y)
                lines.append(
                    f"| {title_of(name)} | {size_of(size)} | {np.median(y):.1f} µs | {in_words(r)} | "
                    f"{in_words(rho)} |"
                )
        yield "\n".join(lines) + "\n"


def _ping_pong(found: Found) -> str:
    plan = found.plan
    pairs = [("different islands", plan.pair()), ("same island", plan.pair(SECOND))]
    for intensity in plan.extent.intensities[1:]:
        words = f"different islands, jobs sending {intensity:g} × as much"
        pairs.insert(-1, (words, plan.pair(intensity=intensity)))
    lines = [
        "## Correlation of b with ping-pongs\n",
        "Times are half of a round trip. *Different islands*: between the probe's first and "
        "last node. *Same island*: between its first and second node, at two leaves of the same "
        "island, where the two ranks of `osu_latency` are if ranks are given to nodes in order. "
        "*Slowest*: the largest of the mean times over the smallest. *Not seen*: in 1,000 draws of "
        f"{PAPER_POINTS} of the moments, how often |r| is below {least_r(PAPER_POINTS):.2f} and so not "
        "significant. *With scatter*: the same with the scatter that means of 1,000 ping-pongs have "
        "on a real machine whatever its share of busy nodes: "
        f"{100 * scatter_of(SIZES[0]):.0f} % for 4 B and 1 KiB (Piz Daint, 1 B, 208 means in a quiet "
        f"hour), {100 * scatter_of(LARGE):.0f} % for larger messages (Piz Daint, 16 MiB).\n",
        "| nodes | size | median of the mean times | slowest | r | ρ | not seen | with scatter |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    empty = len(lines)
    for words, setting in pairs:
        moments, means = month_means(found, setting)
        if len(moments) < 4:
            continue
        b = np.array([moment.b for moment in moments])
        for size in SIZES:
            y = means[PING_PONG, size]
            r, rho = (estimate_pairs(figure, b, y) for figure in (pearson, spearman))
            unseen = [
                f"{100 * share_not_seen(b, y, scatter, PAPER_POINTS):.0f} %"
                for scatter in (0.0, scatter_of(size))
            ]
            lines.append(
                f"| {words} | {size_of(size)} | {np.median(y) / 2:.2f} µs | "
                f"{y.max() / y.min():.2f} × | {in_words(r)} | {in_words(rho)} | {' | '.join(unseen)} |"
            )
    if len(lines) == empty:
        return ""
    beside = []
    for intensity in plan.extent.intensities:
        moments, means = month_means(found, plan.month(intensity))
        if len(moments) < 4:
            continue
        b = np.array([moment.b for moment in moments])
        shares = [
            f"{title_of(name)} "
            f"{100 * share_not_seen(b, means[name, LARGE], scatter_of(LARGE), PAPER_POINTS):.0f} %"
            for name in COLLECTIVES
        ]
        words = "" if intensity == 1 else f" (jobs sending {intensity:g} × as much)"
        beside.append(", ".join(shares) + words)
    if beside:
        lines.append(
            "\n*Not seen*, with the same scatter, for collectives of 1 MiB on different islands: "
            f"{'; '.join(beside)}."
        )
    return "\n".join(lines) + "\n"


def _families(fits: Sequence[BestFits]) -> str:
    if not fits:
        return ""
    lines = [
        "## Families that fit\n",
        f"Calls of 1 MiB. The table has the best of {fits[0].families} continuous families by three "
        "criteria, each with its Kolmogorov–Smirnov distance: the squared error between density and "
        "histogram, by which the paper seems to have ranked and which depends on the bins; AIC; and "
        "BIC. *Held out*: on calls that it was not fitted to (every fifth), the log-likelihood per "
        "call of the best family by BIC less that of a normal distribution. The best of a hundred "
        "families fits better than it deserves, by chance ([families](../../docs/tails.md#families)).\n",
        "| distribution | collective | calls | by squared error | by AIC | by BIC | held out |",
        "|---|---|--:|---|---|---|--:|",
    ]
    lines += [
        f"| {f.where} | {title_of(f.collective)} | {f.calls} | {f.squared_error} | {f.aic} | "
        f"{f.bic} | {f.held_out:+.2f} |"
        for f in fits
    ]
    return "\n".join(lines) + "\n"


def _by_setting(found: Found) -> str:
    """Large calls on different islands under every routing and experiment."""
    plan = found.plan
    rows: list[tuple[str, list[tuple[list[list[float]], list[list[float]]]]]] = []

    def both(setting: Setting, kind: str) -> list[tuple[list[list[float]], list[list[float]]]]:
        return [
            (
                found.times(plan.experiment_moments(kind, HIGH), setting, name, LARGE, _kind(kind)),
                found.times(plan.experiment_moments(kind, LOW), setting, name, LARGE, _kind(kind)),
            )
            for name in COLLECTIVES
        ]

    for intensity in plan.extent.intensities:
        for routing in ROUTINGS:
            words = routing if intensity == 1 else f"{routing}, {intensity:g} × the bytes"
            setting = plan.long(machine.DIFFERENT_ISLANDS, routing, intensity)
            rows.append((f"{words} ({plan.extent.long_ms} ms)", both(setting, "")))
    for name in plan.extent.experiments:
        rows.append((name, both(plan.experiment(name), name)))
    lines = [
        "## Routing, and what else the machine may have been\n",
        "Calls of 1 MiB on different islands. A cell has the median and the 99th percentile, in ms, of "
        f"all calls at the moments with b about {HIGH:g}; their mean over that at b about {LOW:g}; the "
        "share of the calls at high b that take longer than 1.5 × their median; and whether they have "
        "two modes (dip test at 5 %, and mixture by BIC).\n",
        "| setting | " + " | ".join(title_of(name) for name in COLLECTIVES) + " |",
        "|---|" + "---|" * len(COLLECTIVES),
    ]
    for words, cells in rows:
        if any(high for high, _ in cells):
            lines.append(f"| {words} | " + " | ".join(_cell(*cell) for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def _applications(found: Found) -> str:
    """How much longer applications take at the higher b, among jobs that send more, too."""
    lines = [
        "## Applications, and what jobs send\n",
        "| application | b | jobs send | iterations a moment | longer at the higher b |",
        "|---|---|--:|--:|--:|",
    ]
    empty = len(lines)
    for name, (low, high) in FIGURE_6.items():
        for intensity in found.plan.extent.intensities:
            rise = application_rise(found, name, intensity)
            times = application_times(found, name, high, intensity)
            if times and not math.isnan(rise.value):
                lines.append(
                    f"| {name} | {low:g}, {high:g} | {intensity:g} × | "
                    f"{np.mean([len(one) for one in times]):.0f} | {in_words(rise, ' %')} |"
                )
    return "\n".join(lines) + "\n" if len(lines) > empty else ""


def _kind(name: str) -> str:
    return name if name == PACKED else ""


def _cell(high: Sequence[Sequence[float]], low: Sequence[Sequence[float]]) -> str:
    if not high:
        return "–"
    all_ = np.concatenate([np.asarray(one) for one in high])
    p50, p99 = np.quantile(all_, (0.5, 0.99)) / 1000
    text = f"{p50:.2f}, {p99:.2f}"
    if low:
        quiet = np.concatenate([np.asarray(one) for one in low])
        text += f"; {all_.mean() / quiet.mean():.2f} ×"
    text += f"; {100 * slow_share(all_.tolist()):.0f} %"
    if two_modes(high):
        text += ", two modes"
    return text


def _predictors(found: Found) -> Iterator[str]:
    for intensity in found.plan.extent.intensities:
        rows = indicators(found, intensity)
        if not rows:
            continue
        words = "" if intensity == 1 else f", jobs sending {intensity:g} × as much"
        lines = [
            f"## What goes with the load, and with times{words}\n",
            "Spearman's ρ over the moments, with the mean load that the background puts on the global "
            "links, and with the mean times of collectives of 1 MiB.\n",
            "| quantity | load | " + " | ".join(title_of(name) for name in COLLECTIVES) + " |",
            "|---|" + "--:|" * (1 + len(COLLECTIVES)),
        ]
        for row in rows:
            values = [row.load, *row.times.values()]
            lines.append(f"| {row.name} | " + " | ".join(in_words(v) for v in values) + " |")
        yield "\n".join(lines) + "\n"
        made = forecasts(found, intensity)
        if made is None:
            continue
        lines = [
            f"## Forecasts of slow runs{words}\n",
            f"Fitted on the {made.learnt} earlier moments, tested on the {made.judged} later "
            f"ones; {100 * made.slow:.0f} % of the tested runs are slow. The threshold is "
            f"b = {made.threshold:.2f}. A lower Brier score is better; the gain is how far it is "
            "below that of the threshold, with a 95 % interval over the moments.\n",
            "| from | Brier score | gain |",
            "|---|--:|--:|",
        ]
        lines += [f"| {r.name} | {r.brier:.3f} | {in_words(r.gain, '', 3)} |" for r in made.rows]
        yield "\n".join(lines) + "\n"


def _culprits(found: Found) -> str:
    lines = []
    for intensity in found.plan.extent.intensities:
        made = culprits(found, intensity)
        if made is None:
            continue
        text = ", ".join(
            f"{name} {100 * share:.0f} % of the waiting with {100 * made.nodes[name]:.0f} % of the "
            "nodes"
            for name, share in made.waited.items()
        )
        lines.append(
            f"- Jobs sending {intensity:g} × what was measured: {text}. Of the {made.jobs:.0f} jobs that "
            f"communicate at a moment, one alone causes {100 * made.first:.0f} % of the waiting; it has "
            f"{100 * made.first_of_b:.0f} % of the nodes that b counts."
        )
    return "## Whom the probe waits for\n\n" + "\n".join(lines) + "\n" if lines else ""
