"""``docs/results.md`` from the schemas of the result tables."""

from __future__ import annotations

from odonata.results.tables import SCHEMA_VERSION, to_markdown

INTRODUCTION = """\
# Results

`odonata run` writes a result directory. It claims the directory at the start of the run with a hidden file
`.claimed`; an existing result is never overwritten. At the end the tables appear, `result.json` as the last of them,
and then the pictures. If a picture cannot be drawn, the run prints a warning and the tables stay. A directory that a
killed run has left is taken over by the next run. (While a run with [checkpoints](checkpoints.md) is not finished, its
directory holds the checkpoint and no results.)

| file | content |
|---|---|
| `scenario.toml` | the scenario as it was run, with `--set` and `--seed` applied; `odonata run` on this file repeats the run. It names other files relative to this directory, so that all of them can be moved, or copied to another machine, together |
| `result.json` | version, seed, network, routing, simulated time, format of the tables ({version}) |
| `*.parquet` | the tables below |
| `summary.json` | the figures of the `summary` table, nested, with the most loaded links by name |
| `*.png` | the pictures; begin with `overview.png` |
| `timing.json` | what the run cost: CPU and wall time, events, memory, threads |

Equal scenarios and seeds give equal files, byte for byte, on any number of threads. The only
exception is `timing.json`. (PNG files are equal if the same version of matplotlib draws them.)

## Reading them

The tables are plain [Parquet](https://parquet.apache.org) files, which pandas, polars and DuckDB open.
In Python, Odonata opens them for you:

```python
import odonata

result = odonata.run("examples/demo.toml")
result = odonata.Result.load("results/demo-1")  # or the result of an earlier run

result.jobs  # an Arrow table
result.to_pandas("links")  # the same for pandas …
result.to_polars("links")  # … and polars (pip install polars), without a copy
result.summary_dict["jobs"][0]["message_latency_p99_ps"]
result.most_loaded_links(5)  # with names: r12 (g1) → r40 (g5), global
result.plot.latency()  # a matplotlib figure
result.plot.latency("latency.svg")  # the same figure in a file: .png, .pdf or .svg
result.save("results/mine", plots=True)
```

Times are in picoseconds, amounts in bytes. The column names say so, and so does the metadata of every
field in the files (`unit`, `description`). The tables of schedules, job logs, searches for saturation, analyses of
interference, studies and measurements have the `unit` in their metadata too. Rates and fractions refer to the
*measured time*, from the end of the warm-up to the end of the run.

"""


def results_page() -> str:
    """The page."""
    return INTRODUCTION.format(version=SCHEMA_VERSION) + to_markdown().rstrip() + "\n"
