"""Ctrl-C in Python stops what computes, soon, and leaves no process behind."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

#: What is called in a process of its own.
CALLS = {
    "run": "odonata.run(endless)",
    "saturation": "odonata.saturation(endless)",
    "sweep": "odonata.sweep(endless, {'network.routing': ['minimal', 'par']})",
    "schedule": "odonata.schedule(log, policy='conservative-replanned')",
    "generate_job_log": "odonata.generate_job_log(nodes=4096, jobs=5_000_000)",
    "topology": "[odonata.topology(largest) for _ in range(1000)]",
    # A minute without a place where it could be stopped.
    "bisection": "bisection_width(endless)",
    "archive": "write_archive()",
    "fits": "fit_families(numpy.arange(1000.0), ['levy_stable', 'studentized_range'] * 20)",
}
#: What some of them need before. An import that is interrupted is Python's matter.
BEFORE = {
    "schedule": "log = odonata.generate_job_log(nodes=4096, jobs=50_000, arrivals_factor=0.2)",
    "topology": ("largest = endless.with_set({'network.p': 16, 'network.a': 32, 'network.h': 16})"),
    "fits": "import scipy.stats",
}
SCRIPT = """
import json, multiprocessing, os, signal, sys, tempfile, threading, time
import numpy
import odonata, odonata._engine
from odonata.network.bisection import bisection_width
from odonata.tails import fit_families

signal.signal(signal.SIGINT, signal.default_int_handler)
endless = odonata.Scenario.from_dict({{
    "network": {{"family": "dragonfly", "p": 4, "a": 8, "h": 4, "routing": "par"}},
    "simulation": {{"duration": "1 s"}},
    "job": [{{
        "nodes": 1056,
        "traffic": {{"pattern": "uniform-random", "message": "4 KiB", "load": 0.8}},
    }}],
}})
{before}


def write_archive():
    # More files than any disk takes in a second, each of twenty regions entered.
    ranks, each = 200_000, 20
    names = {{
        "creator": "", "ticks_per_second": 1, "processes": [""] * ranks, "comms": [],
        "regions": [("compute", 4, 1)],
    }}
    counts = numpy.full(ranks, each, numpy.uint64)
    events = numpy.tile(numpy.array([0, 12, 0, 0, 0, 0, 0], numpy.uint64), ranks * each)
    with tempfile.TemporaryDirectory() as directory:
        anchor = os.path.join(directory, "traces.otf2")
        try:
            odonata._engine.write_otf2(anchor, json.dumps(names), counts, events)
        finally:
            assert not os.path.exists(anchor)


def interrupt():
    global sent
    sent = time.monotonic()
    os.kill(os.getpid(), signal.SIGINT)


if __name__ == "__main__":
    threading.Timer(1.0, interrupt).start()
    try:
        {call}
        print("finished")
    except KeyboardInterrupt:
        print(time.monotonic() - sent)
"""


@pytest.mark.parametrize("name", CALLS)
def test_ctrl_c_stops_what_computes(name: str) -> None:
    start = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(call=CALLS[name], before=BEFORE.get(name, ""))],
        capture_output=True,
        text=True,
        timeout=120,
    )
    # The streams end when the last process that has them does: none is left.
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    # At once, on a machine of its own; other work may have the processors.
    assert float(done.stdout) < 5, time.monotonic() - start
