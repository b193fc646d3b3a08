"""Places of jobs in Tofu interconnects: a torus of three dimensions in one of six."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from odonata.errors import MachineError

#: Routers along a, b and c of a unit (Ajima, Inoue, Hiramoto, Shimizu, Takagi 2012, IEEE Micro
#: 32 (1)).
UNIT = (2, 3, 2)

#: Units of Fugaku along X, Y and Z: 158,976 nodes of 12 in each.
FUGAKU = (24, 23, 24)


def ring(length: int) -> list[tuple[int, int]]:
    """A ring of routers in the plane of a dimension between units and one within them.

    Out on one side of the units and back on the other, so that neighbours on the ring, its ends
    among them, are neighbours in the network.

    Args:
        length: Routers; 1 or even.

    Returns:
        Unit and place within it of each.

    Raises:
        MachineError: If the length is odd.
    """
    if length == 1:
        return [(0, 0)]
    if length < 1 or length % 2:
        raise MachineError(f"shape: found {length} along a dimension; allowed: 1 or an even number")
    out = [(unit, 0) for unit in range(length // 2)]
    return out + [(unit, 1) for unit, _ in reversed(out)]


def block(shape: Sequence[int], size: Sequence[int] = FUGAKU) -> list[str]:
    """Hosts of a job that is a torus of three dimensions, in the order of its ranks.

    Fujitsu's job manager gives a job nodes that are a torus for it; the first dimension of the
    ranks goes fastest. Which of the nodes of units a job with less than all of them gets is
    assumed: the first two along b.

    Args:
        shape: Nodes along each of its dimensions: 1 or even.
        size: Units along X, Y and Z of the network.

    Returns:
        Names as in `examples/machines/fugaku.toml`: `tofu` and the number of the node, X fastest,
        then Y, Z, c, b, a.

    Raises:
        MachineError: If the shape is none that fits.
    """
    if len(shape) != 3:
        raise MachineError(f"shape: found {len(shape)} dimensions; allowed: 3, such as 4x4x4")
    for length, most in zip(shape, size, strict=True):
        if length > 2 * most:
            raise MachineError(
                f"shape: found {length} along a dimension; allowed: up to {2 * most}"
            )
    rings = [ring(length) for length in shape]
    names = []
    for (z, c), (y, b), (x, a) in itertools.product(*reversed(rings)):
        within = c + UNIT[2] * (b + UNIT[1] * a)
        names.append(f"tofu{x + size[0] * (y + size[1] * (z + size[2] * within)):04}")
    return names


def box(
    size: Sequence[int], wrap: Sequence[bool], nodes: Sequence[int]
) -> tuple[list[int], list[int]]:
    """The part of a torus that messages among nodes do not leave, and the nodes in it.

    In a dimension that does not wrap around, paths of dimension order stay between the lowest and
    the highest place of their ends. Others are kept whole.

    Args:
        size: Routers along each dimension, one node on each; the first goes fastest.
        wrap: Whether each wraps around.
        nodes: Their numbers.

    Returns:
        Size of the part, and the numbers of the nodes there.
    """
    places = np.array(np.unravel_index(list(nodes), tuple(size), order="F"))
    fixed = np.array([not around for around in wrap])
    low = np.where(fixed, places.min(axis=1), 0)
    part = np.where(fixed, places.max(axis=1) - low + 1, size)
    inside = np.ravel_multi_index(list(places - low[:, None]), tuple(part), order="F")
    return part.tolist(), inside.tolist()
