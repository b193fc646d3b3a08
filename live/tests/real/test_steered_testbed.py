"""The testbed of studies/pages/study-live-testbed.md in small: who passes where, not how fast."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from steered_testbed import Meter, Shape, SteeredTestbed, address, build_testbed, gtc, sent_by_gtc

MPIEXEC = Path(sys.executable).parent / "mpiexec"
#: A packet begins with so many hops to go, and every router takes one.
FIRST_TTL = 64


def routers_between(bed: SteeredTestbed, one: str, other: str) -> int:
    """How many routers a packet passes on its way back."""
    said = bed.run("ping", "-n", "-c", "1", "-W", "60", address(other), space=one)
    ttl = re.search(r"ttl=(\d+)", said)
    assert ttl, said
    return FIRST_TTL - int(ttl[1])


def bytes_of_gtc(bed: SteeredTestbed) -> int:
    """Bytes that upper links have carried while GTC ran."""
    meter = Meter(bed, period_s=0.1)
    meter.start()
    gtc(bed, 2, 50_000, 100_000, 0.0)
    of_link: dict[str, list[int]] = {}
    for _, link, count in meter.end():
        of_link.setdefault(link, []).append(count)
    return sum(counts[-1] - counts[0] for counts in of_link.values())


@pytest.mark.skipif(not MPIEXEC.exists(), reason="no MPI beside this Python: pip install mpich")
def test_steered_uplinks_keep_gtc_off_the_top(switches_available: None) -> None:
    shape = Shape(per_leaf=1, leaves=2, mbit=100)
    with build_testbed(shape) as bed:
        bed.set_straight()
        # Two leaves of a pod by an aggregation switch; two of two pods by the top.
        assert [routers_between(bed, "h0", other) for other in ("h1", "h2")] == [3, 5]
        standard = bytes_of_gtc(bed)
        # Every rank sends 0.3 MB ahead and 0.25 MB back in a step, all of it to the other pod.
        assert standard > 4 * 2 * 550_000
        bed.set_steered(sent_by_gtc(shape))
        assert [routers_between(bed, "h0", other) for other in ("h1", "h2")] == [5, 3]
        assert bytes_of_gtc(bed) < standard / 10
