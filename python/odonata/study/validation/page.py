"""``docs/validation.md``: the comparisons with what they mean. Verdicts are computed."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from odonata.study.validation import booksim, closed_forms, codes, sst
from odonata.study.validation.comparison import Comparison, worst

INTRODUCTION = """\
# Validation

Does the packet engine simulate what [the packet model](packet-model.md) says, and does that model agree with
theory and with other simulators? This page is written by

<!-- not run: minutes; test_study.py runs the quick one's theory -->
```sh
odonata study validation            # minutes; --quick: one
```

which repeats every simulation and computes every verdict below. Tests (`make test`) check the same laws more
sharply where an exact answer exists, to the picosecond for empty networks and lone flows; see
[the last section](#tests).

{verdicts}

![All comparisons]({figure})

*Exact*: equal to a millionth. *Within 5 %*: of the reference. *Within its interval*: more than 5 % off, but no
more than half the width of our own 95 % confidence interval ([how it is computed](statistics.md)).
*Explained by*: an experiment that changes one thing in which the models differ brings ours within 5 %, or to
the other side of the reference. *DIFFERS*: none of these.
"""

THEORY = """\
## Against theory

Links carry a packet of 256 B in 32 ns. Intervals are those of [batch means](statistics.md); those of shares
of packets are binomial.
"""

TEXTS = {
    closed_forms.WAITING: """\
Poisson arrivals at one port wait as in an M/D/1 queue. With one source its own link is the queue. With
sixteen sources the links of the sources are queues as well, but a packet starts on its node's link and, a
constant time later, on the port, so that whenever a packet waits anywhere the port is busy: all packets
together wait as in one queue.
""",
    closed_forms.CREDITS: """\
A flow through a buffer of *k* packets gets *k* packets per round trip of a credit, up to the link's rate:
flit 1 ns + wire 150 ns + router 40 ns + packet 32 ns + wire 150 ns + credit delay 8 ns = 381 ns.
""",
    closed_forms.BLOCKING: """\
A saturated switch with one FIFO per input. The crossbar is as fast as a link, all packets are equally long and
all sources begin together, so that the engine, which knows no slots, works in slots.
""",
    closed_forms.HOPS: """\
Dragonfly of 72 nodes (p = 2, a = 4, h = 2). The exact shares are counted over all pairs of routers (and all
intermediate groups) on the list of links alone, without the routing code.
""",
    closed_forms.LOADS: """\
The same dragonfly: how much a link carries, as a multiple of what each node offers.
""",
    closed_forms.SATURATION: """\
The same dragonfly under an offered load of 0.8: the busiest links are full.
[Load-latency curves](dragonfly-theory.md) of a larger one are a study of their own.
""",
}

BOOKSIM = """\
## Against BookSim 2

Points measured with BookSim 2 (commit 28f4329) on the same dragonfly of 72 nodes; every parameter is given with
the data (`../shared/reference`, beside the checkout).

**Cycles** are counted, not fitted. One cycle is 1 ns and one flit 8 bytes, so that links carry a flit per cycle.
A BookSim channel of latency *L* delivers *L* + 1 cycles after a flit was written to it; ours after one flit time
and *L*: the same. A BookSim router that receives a flit in cycle *T* allocates channel and switch in *T* (two
internal steps per cycle, since the internal speed-up is 2) and writes the flit in *T* + 1: one cycle, our router
delay. Hence Σ (*L* + 1) + *R* + *P* − 1 for *P* flits over *R* routers, which our closed form gives to the
picosecond (a test).

**Buffers.** 256 flits per virtual channel; a credit takes the channel's latency and 2 cycles. In BookSim a flit
enters an output queue only with a credit in hand, so that queue, wire and next buffer together hold 256 flits.
The [bounded crossbar](packet-model.md#bounded-crossbar) with `credit_use = "crossbar"` does the same, packet by
packet; its speed-up is 2.

**UGAL**: intermediate node drawn over the machine, minimal if q<sub>min</sub> ≤ 2 q<sub>non-minimal</sub> +
30 flits. Sources are Bernoulli processes per cycle. A packet to oneself crosses one router in BookSim; here it
stays in the node and takes as long.

The reference scatters by 1 % itself.
"""

EXPERIMENTS = """\
### What explains the larger differences

Each experiment changes one thing in which the models differ; mean latencies in cycles:

{table}

**Credits at the link** (`credit_use = "link"`, output queues of the 51 flits that a global channel's round trip
leaves of 256): until packets could take their credits at the crossbar, this was the best match. It starves the
short channels near saturation and was the reason for the largest differences.

**Allocation**: a crossbar with a speed-up of 1.5 instead of 2. BookSim's allocators (separable, one iteration)
leave inputs and outputs unmatched that could be, a packet must own its output channel before it asks for the
switch, and flits of two channels interleave on a link, which makes both packets late. All that acts as a slower
crossbar: where packets wait for each other, ours wait a little less than BookSim's with the nominal speed-up,
and more without that half step. The experiment shows that differences of this size are what the effectiveness
of the crossbar makes; it does not tell how much each of the three causes contributes.

**Counting**: a threshold of 29 flits instead of 30. Queues of packets of 10 flits are multiples of 10 here, where
a packet is counted whole from its way through the crossbar to the return of its credit; BookSim counts flits as
they go. So ours diverts at the fourth packet where BookSim diverts within it: a threshold one flit lower makes
ours divert at the third.

**Reading**: the reference is one run of at most 30,000 cycles. Eight of ours of that length scatter so much that
95 % of single ones lie within the given ± around their mean.

Not examined: BookSim injects on a random one of its 2 or 3 virtual channels, ours on one; UGAL's routes use 4
channels here, 3 there.
"""

OVERLOAD = """\
### Beyond saturation

BookSim gives up when the mean latency since its last reset exceeds 500 cycles (its default), which it looks at
after every period (2,000 cycles); it resets its statistics after the third. What it then reports as throughput is
the mean since the last reset, which for most of these points means: over the first 4,000 cycles, the empty
network at the beginning included. Read from our timeline by the same rule, throughputs agree:
"""

SST = """\
## Against SST

All-to-all of 144 ranks on 72 nodes, 100 kB per pair, in the set-up of Kaplan et al. 2017 (SST 16.0: merlin, ember,
firefly; parameters with the reference data). Messages go by [rendezvous](packet-model.md); routers have a crossbar
as fast as a link and 14 kB of input and of output buffer per channel; links and routers take 40 ns and 100 ns.

The two ranks of a node share its interface. Firefly's has one send machine by default, which sends message after
message: `injection = "fifo"`. (With packets of both messages in turn, seed 1, Valiant routing is faster than SST's by
7.2 % on the circulant arrangement, 4.2 % on the relative and 3.0 % on the absolute one; minimal routing by 0.5 % to
1.7 %.) Firefly's sender of a long message waits until the receiver has fetched it and said so:
`mpi.rendezvous_completion = "acknowledged"`. (Where a message is complete at its sender when its last byte has left,
which is the default, ours are faster by 1.9 % and 2.2 % on the absolute arrangement, minimal and Valiant, 0.5 % and
2.0 % on the relative and 0.3 % and 4.5 % on the circulant one, and ratios differ by 2.6 % at most.)

Where routes are drawn at random, ours is the mean of three seeds with its 95 % confidence interval; SST's is one run.
The order of messages makes run times sensitive to details, so the ratios between arrangements and routings are
compared as well.
"""

CODES = """\
## CODES

The program of [Kang et al. 2019](study-kang2019.md), CODES a4780aed (July 2019, `model-net-synthetic-dfly-plus`), on
3,456 nodes of a dragonfly+ with FPAR: uniform random and tornado traffic of 2,304 ranks, alone and beside a background
that overloads the links of three groups. CODES' figures are of one short run and one seed each, and of one random
placement; ours the mean of five seeds, each with a placement of its own, with the 95 % confidence interval.

Its routers have no queues in which a packet waits behind one for another port: a packet takes room behind its next
link when it comes, joins the output's queue, and gives up its own room with that
([output queues](packet-model.md#output-queues)). `examples/kang2019-codes.toml` is the first row, as a scenario;
`rules` of [`fpar`](scenario.md#routing) has the program's decisions, with its tie-break as published and mended.

Where the set-up is from: rates, wiring, T = 50 %: the paper; packets and buffers: the reference (an assumption there,
from CODES' example of Theta); order of accounting, delays and draws: the program's text, of which the versions at hand
are the ones just before and after (routers and nodes: `dragonfly-plus.C` of early 2019; FPAR: 385e825). Those differ on two
things, and what is here was chosen by its agreement with two of the rows: that nodes send whatever room their leaf
has (in the earlier one, where it follows from a missing look at the credits; seen in the quartiles of the row with
background), and that a packet goes to channel 1 as it leaves an intermediate spine for its destination's group (as
the paper says; seen in the largest latency of the first row). That the length of a port is that of both its channels
is from the paper's text alone; with one channel's the tornado rows would be 20 % below. The draws of 0.5 to 1 ns and
0 to 1 ns that the program adds to every step are their means here.

Where the background overloads links, the mean is met and the quartiles are not: in the middle of the distribution
messages are faster here. That is not explained yet.
"""

TESTS = """\
## Tests

| what | exact value | agreement | test |
|---|---|---|---|
| latency of an empty network: crossbar, dragonflies of all-to-all and of 2-D groups, a real Cray XC40; every number of routers; cut-through and store-and-forward; all crossbars; one and several packets | closed form of the packet model | to the picosecond | `zero_load` |
| a lone packet on BookSim's network | its pipeline, counted | to the picosecond | `booksim` |
| a single flow | rate of the slowest link | to the picosecond | `throughput` |
| 2 to 16 flows into one port, both arbitrations, all crossbars | 1/N each | within 1 %, link full to a packet | `throughput` |
| a flow that its credits hold back | buffer / round trip | to the picosecond | `throughput` |
| Poisson arrivals of 1, 2 and 16 nodes at one, loads 0.2, 0.5, 0.8 | mean wait of M/D/1 | within the 99.9 % confidence interval | `queueing` |
| one source: share of packets that do not wait, that wait at most one service time, second moment of the wait | 1 − *ρ*; (1 − *ρ*) e<sup>ρ</sup>; 2 E[*W*]² + *ρ* / (3 (1 − *ρ*)) | within the 99.9 % confidence interval | `queueing` |
| head-of-line blocking, N = 2, 4, 8 | Karol et al. 1987 | ± 0.004 | `queueing` |
| saturation of a dragonfly under minimal, Valiant, UGAL-L | bounds of the link loads | within 5 % | `dragonfly` |
| BookSim's points up to 70 % of uniform load and under ADV+1 | BookSim 2 | within 5 % | `booksim` |

All are in `crates/sim/tests/engine`. Over 300 random scenarios (networks, routings, router models, open and closed
loop, several jobs and ranks per node, loads up to 150 %) every byte is accounted for, closed-loop runs deliver
everything, and nothing gets stuck. Over 70 more, 1, 2, 3, 4 and 8 threads give equal outcomes in every field. A
broken virtual-channel scheme is refused by the proof and, run all the same, deadlocks and is reported with a real
circle (`properties`, `errors`). From scenario file to result directory, 55 random scenarios over all families,
routings and loads give equal files, by their SHA-256, on 1, 2, 4 and 8 threads
(`tests/python/test_threads.py`; all files but `timing.json`, pictures of every twentieth on 1 and on 8).
"""


def page(
    comparisons: Sequence[Comparison], experiments: Sequence[Mapping[str, Any]], figure: str
) -> str:
    """The page.

    Args:
        comparisons: Of all sections.
        experiments: Rows of the table of experiments.
        figure: Of the comparisons, relative to the page.
    """
    parts = [INTRODUCTION.format(verdicts=_overview(comparisons), figure=figure), THEORY]
    for section, text in TEXTS.items():
        parts += [f"### {section[0].upper()}{section[1:]}\n", text, _table(comparisons, section)]
    if any(c.section == booksim.LATENCY for c in comparisons):
        parts += [BOOKSIM, "### Mean latency\n", _below_saturation(comparisons)]
        parts += [_table(comparisons, booksim.LATENCY)]
        parts += [EXPERIMENTS.format(table=_experiments(experiments)), OVERLOAD]
        parts += [_table(comparisons, booksim.THROUGHPUT)]
        parts += ["### Routers visited\n", _table(comparisons, booksim.ROUTERS)]
    if any(c.section == sst.ALL_TO_ALL for c in comparisons):
        parts += [SST, _table(comparisons, sst.ALL_TO_ALL), _table(comparisons, sst.RATIOS)]
    if any(c.section in codes.SECTIONS for c in comparisons):
        parts += [CODES]
        for section in codes.SECTIONS:
            name = section.removeprefix("CODES: ")
            parts += [f"### {name[0].upper()}{name[1:]}\n", _table(comparisons, section)]
    return "\n".join([*parts, TESTS])


def _overview(comparisons: Sequence[Comparison]) -> str:
    """How many figures of each section have which verdict."""
    rows = ["| section | figures | largest difference | verdicts |", "|---|---|---|---|"]
    for section in dict.fromkeys(c.section for c in comparisons):
        chosen = [c for c in comparisons if c.section == section]
        verdicts = Counter(c.verdict for c in chosen)
        said = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.items())
        largest = worst(chosen)
        shown = "" if math.isnan(largest) else f"{100 * largest:.1f} %"
        rows.append(f"| {section} | {len(chosen)} | {shown} | {said} |")
    return "\n".join(rows)


def _table(comparisons: Sequence[Comparison], section: str) -> str:
    chosen = [c for c in comparisons if c.section == section]
    quantity = chosen[0].quantity if chosen else ""
    remarks = any(c.remark for c in chosen)
    header = ["case", f"{quantity}: ours", "± 95 %", "reference", "difference", "verdict"]
    header += ["remark"] if remarks else []
    rows = [f"| {' | '.join(header)} |", "|---|--:|--:|--:|--:|---|" + ("---|" if remarks else "")]
    for c in chosen:
        cells = [
            c.case,
            _number(c.ours),
            _number(c.ci95) if c.ci95 else "",
            f"{_number(c.reference)}",
            "" if math.isnan(c.difference) else f"{100 * c.difference:+.2f} %",
            c.verdict,
        ]
        cells += [c.remark] if remarks else []
        rows.append(f"| {' | '.join(cells)} |")
    sources = dict.fromkeys(c.source for c in chosen)
    return "\n".join([*rows, "", f"Reference: {'; '.join(sources)}.", ""])


def _below_saturation(comparisons: Sequence[Comparison]) -> str:
    """How well latencies agree well below saturation."""
    latencies = [c for c in comparisons if c.section == booksim.LATENCY]
    stable = {c.series: max(o.x for o in latencies if o.series == c.series) for c in latencies}
    below = [c for c in latencies if c.x <= 0.7 * stable[c.series] + 1e-9]
    beyond = [c for c in latencies if c not in below]
    return (
        f"At loads up to 70 % of the highest stable one of each series, {len(below)} points differ by at "
        f"most {100 * worst(below):.1f} %; nearer to saturation, {len(beyond)} by at most "
        f"{100 * worst(beyond):.1f} %.\n"
    )


def _experiments(rows: Sequence[Mapping[str, Any]]) -> str:
    names = [name for name in rows[0] if name not in ("point", "BookSim")] if rows else []
    lines = [
        f"| point | BookSim | {' | '.join(names)} |",
        "|---|--:|" + "--:|" * len(names),
    ]
    for row in rows:
        cells = [_experiment(row, name) for name in names]
        lines.append(f"| {row['point']} | {row['BookSim']:.1f} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _experiment(row: Mapping[str, Any], name: str) -> str:
    value = row[name]
    if math.isnan(value):
        return ""
    if name.endswith("±"):
        return f"{value:.1f}"
    return f"{value:.1f} ({100 * (value / row['BookSim'] - 1):+.1f} %)"


def _number(value: float) -> str:
    if math.isnan(value):
        return ""
    if abs(value) >= 100:
        return f"{value:,.1f}"
    return f"{value:.4f}" if value == 0 or abs(value) >= 5e-4 else f"{value:.1e}"
