"""A small real machine, which tests of predictions and of calibration share."""

from pathlib import Path

from command import call
from odonata.scenario import Scenario

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def odonata(*arguments, check=True):
    """The command, from the root of the repository."""
    done = call(*(str(one) for one in arguments), directory=EXAMPLES.parent)
    assert done.returncode == 0 or not check, done.stderr
    return done


SMALL = """
[network]
family = "crossbar"
nodes = 16
links = { terminal = { bandwidth = "10 GB/s", latency = "1 ps" } }
router = { delay = "0 ns", flit = "1 B" }
[simulation]
engine = "flow"
[machine]
name = "Small"
hosts = [{ names = "node[01-16]", first_node = 0 }]
"""
HOSTS = [f"node{n:02d}" for n in range(1, 17)]


def small(more: str = "") -> Scenario:
    return Scenario.from_toml(SMALL + more)
