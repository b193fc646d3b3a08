"""``docs/results.md`` from the schemas of the result tables."""

from __future__ import annotations

from odonata.tables import SCHEMA_VERSION, to_markdown

INTRODUCTION = """\
# Results

`odonata run` leaves a directory. It is claimed when the run begins (a hidden file `.claimed` says so), its tables
appear at the end, `result.json` last, and then its pictures; an existing one is never overwritten. A picture that
cannot be drawn is a warning, and the tables stay. What a killed run leaves is taken over by the next one. (While a
run with [checkpoints](checkpoints.md) is not finished, its directory holds its checkpoint and no results.)

| file | what it is |
|---|---|
| `scenario.toml` | the scenario as it was run, with `--set` and `--seed` applied; `odonata run` on it repeats the run. Files that it names are named relative to this directory: it and they may move together, or be copied together to another machine |
| `result.json` | version, seed, network, routing, simulated time, format of the tables ({version}) |
| `*.parquet` | the tables below |
| `summary.json` | the figures of the `summary` table, nested, with the most loaded links by name |
| `*.png` | the pictures, `overview.png` first |
| `timing.json` | what the run cost: CPU and wall time, events, memory, threads |

Equal scenarios and seeds give equal files, byte for byte, on any number of threads; only
`timing.json` differs, and is left out of this promise for that reason. (PNG files are equal
where the same version of matplotlib draws them.)

## Reading them

The tables are plain [Parquet](https://parquet.apache.org): pandas, polars and DuckDB open them.
From Python, Odonata does it for you:

```python
import odonata

result = odonata.run("examples/demo.toml")
result = odonata.Result.load("results/demo-1")  # or one that is there already

result.jobs  # an Arrow table
result.to_pandas("links")  # the same for pandas …
result.to_polars("links")  # … and polars, without a copy
result.summary_dict["jobs"][0]["message_latency_p99_ps"]
result.most_loaded_links(5)  # with names: g3 r12 → g5 r40 (global)
result.plot.latency()  # a matplotlib figure
result.plot.latency("latency.svg")  # the same as a file: .png, .pdf or .svg
result.save("results/mine", plots=True)
```

Times are in picoseconds, amounts in bytes; column names say so, and so does the metadata of every
field in the files (`unit`, `description`); the tables of schedules, job logs, searches for saturation, analyses of
interference, studies and measurements have the `unit` as well. Rates and fractions count
what happened from the end of the warm-up to the end of the run: the *measured time*.

"""


def results_page() -> str:
    """The page."""
    return INTRODUCTION.format(version=SCHEMA_VERSION) + to_markdown().rstrip() + "\n"
