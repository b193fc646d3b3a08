"""Skeletons of applications: what well-known applications compute and send.

Names, parameters and defaults are those of the engine (`crates/load/src/application`), where
each skeleton says what it models; `docs/applications.md` has them in one table.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from odonata.model import Computing, Count, Index, PositiveSize, Table
from odonata.units import Duration, FlopRate, Size

#: A number that is not negative.
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]
#: A part of a whole.
Part = Annotated[float, Field(ge=0, le=1)]
Three = Annotated[list[Count], Field(min_length=3, max_length=3)]
Four = Annotated[list[Count], Field(min_length=4, max_length=4)]
Plane = Annotated[list[Count], Field(min_length=2, max_length=2)]


class Skeleton(Table):
    """What every skeleton of an application has."""

    iterations: Count = 1
    """How often each rank runs through the application's main loop."""
    compute: Duration | None = None
    """Time that a rank computes in an iteration, divided among its parts as their work is.
    Instead of `flop_rate`, which says it by default."""

    def engine_form(self, directory: Path = Path()) -> dict[str, Any]:
        """The engine's form of the motif."""
        application: dict[str, Any] = {}
        for key in type(self).model_fields:
            if key in Skeleton.model_fields or key == "flop_rate":
                continue
            value = getattr(self, key)
            if key == "kind":
                application["name"] = value
            elif isinstance(value, Size):
                application[f"{key}_bytes"] = int(value)
            elif value is not None:
                application[key] = value
        pace = (
            {"flop_per_s": float(self.flop_rate)}  # type: ignore[attr-defined]
            if self.compute is None
            else {"compute_ps": int(self.compute)}
        )
        return {
            "kind": {"name": "application", "application": application, "pace": pace},
            "iterations": self.iterations,
        }


class Halo3d26(Skeleton):
    """Halo exchange with faces, edges and corners: all 26 neighbours in 3-D.

    Defaults of the Halo3D26 motif of SST's Ember.
    """

    kind: Literal["halo3d-26"] = "halo3d-26"
    """The motif."""
    flop_rate: Computing = FlopRate("1 GFLOP/s")
    """How fast a rank computes."""
    cells: Three = Field([100, 100, 100])
    """Cells of each rank along each dimension."""
    variables: Count = 1
    """Numbers per cell."""
    element: PositiveSize = Size("8 B")
    """Size of a number."""
    flop_per_variable: Amount = 26.0
    """Operations per number and iteration."""
    reduce: bool = False
    """Whether each iteration ends with an all-reduce of one number."""
    grid: Three | None = None
    """Ranks along each dimension. Default: as nearly cubic as can be."""
    periodic: bool = False
    """Whether the grid wraps around."""


class Sweep3d(Skeleton):
    """Wavefronts of particle transport, from each corner of a 2-D grid of ranks.

    Eight octants (Koch, Baker, Alcouffe 1992); defaults of the Sweep3D motif of SST's Ember.
    """

    kind: Literal["sweep3d"] = "sweep3d"
    """The motif."""
    flop_rate: Computing = FlopRate("1 GFLOP/s")
    """How fast a rank computes."""
    cells: Three = Field([50, 50, 50])
    """Cells of each rank along each dimension."""
    kba: Count = 1
    """Planes of cells that are worked on at a time."""
    angles: Count = 8
    """Numbers per cell and octant."""
    element: PositiveSize = Size("8 B")
    """Size of a number."""
    flop_per_angle: Amount = 275.0
    """Operations per cell, angle and octant."""
    grid: Plane | None = None
    """Ranks along x and y. Default: as nearly square as can be."""


class Fft(Skeleton):
    """A 3-D Fourier transform and its inverse by pencils.

    All-to-alls in the rows and columns of a 2-D grid of ranks (Pekurovsky 2012: P3DFFT).
    """

    kind: Literal["fft"] = "fft"
    """The motif."""
    flop_rate: Computing = FlopRate("10 GFLOP/s")
    """How fast a rank computes."""
    points: Three = Field([100, 100, 100])
    """Points of the whole grid along each dimension."""
    element: PositiveSize = Size("16 B")
    """Size of a complex number."""
    inverse: bool = True
    """Whether the inverse follows."""
    grid: Plane | None = None
    """Ranks of a row and of a column. Default: as nearly square as can be."""


class Lulesh(Skeleton):
    """Shock hydrodynamics: an all-reduce and exchanges with 26, 13 and 6 neighbours.

    The time step of LULESH 2.0 (Karlin et al. 2013).
    """

    kind: Literal["lulesh"] = "lulesh"
    """The motif."""
    flop_rate: Computing = FlopRate("10 GFLOP/s")
    """How fast a rank computes."""
    size: Count = 30
    """Mesh elements of each rank along each dimension."""
    element: PositiveSize = Size("8 B")
    """Size of a number."""
    flop_per_element: Amount = 4000.0
    """Operations per mesh element and time step."""
    shares: Annotated[list[Amount], Field(min_length=4, max_length=4)] = Field(
        [0.5, 0.05, 0.15, 0.3]
    )
    """Parts of the computing before the exchanges of forces, positions and gradients, and after
    them."""
    grid: Three | None = None
    """Ranks along each dimension. Default: as nearly cubic as can be."""


class Amg(Skeleton):
    """Conjugate gradients with a V-cycle of algebraic multigrid.

    Exchanges on every level, with more neighbours on coarser ones (Gahvari et al. 2011).
    """

    kind: Literal["amg"] = "amg"
    """The motif."""
    flop_rate: Computing = FlopRate("1 GFLOP/s")
    """How fast a rank computes."""
    points: Three = Field([25, 25, 25])
    """Points of each rank along each dimension, on the finest level."""
    levels: Count | None = None
    """Levels, the coarsest included. Default: down to one point per rank."""
    sweeps: Count = 1
    """Relaxations of a level on each way."""
    reach: Count = 2
    """How far all operators but the finest reach, in points."""
    element: PositiveSize = Size("8 B")
    """Size of a number."""
    grid: Three | None = None
    """Ranks along each dimension. Default: as nearly cubic as can be."""


class Milc(Skeleton):
    """Lattice quantum chromodynamics: gathers in 4-D, with third neighbours.

    Conjugate gradients with small all-reduces (Bauer et al. 2012).
    """

    kind: Literal["milc"] = "milc"
    """The motif."""
    flop_rate: Computing = FlopRate("20 GFLOP/s")
    """How fast a rank computes."""
    sites: Four = Field([8, 8, 8, 8])
    """Sites of each rank along x, y, z and t."""
    element: PositiveSize = Size("8 B")
    """Size of a real number; a quark vector has 6."""
    naik_planes: Annotated[int, Field(ge=0, le=3)] = 2
    """Planes in the message for third neighbours: 3 if the nearest one is sent again, 0 for the
    plain operator."""
    masses: Count = 11
    """Masses that are solved for at once."""
    grid: Four | None = None
    """Ranks along each dimension. Default: as nearly equal as can be."""
    periodic: bool = True
    """Whether the lattice wraps around."""


class Nekbone(Skeleton):
    """Conjugate gradients with spectral elements: gather-scatter and all-reduces.

    Exchanges with 26 neighbours, three sums in each iteration (Fischer, Heisey 2013).
    """

    kind: Literal["nekbone"] = "nekbone"
    """The motif."""
    flop_rate: Computing = FlopRate("10 GFLOP/s")
    """How fast a rank computes."""
    elements: Three = Field([8, 8, 8])
    """Spectral elements of each rank along each dimension."""
    order: Count = 9
    """Polynomial order; elements have one point more per dimension."""
    element: PositiveSize = Size("8 B")
    """Size of a number."""
    grid: Three | None = None
    """Ranks along each dimension. Default: as nearly cubic as can be."""
    periodic: bool = False
    """Whether the grid wraps around."""


class MiniAmr(Skeleton):
    """A stencil on a mesh that is refined around a moving sphere.

    Messages grow with the level of refinement (Vaughan, Barrett 2015). `compute` is the time of a
    rank that is refined as far as can be.
    """

    kind: Literal["mini-amr"] = "mini-amr"
    """The motif."""
    flop_rate: Computing = FlopRate("10 GFLOP/s")
    """How fast a rank computes."""
    cells: Three = Field([10, 10, 10])
    """Cells of a block along each dimension."""
    variables: Count = 40
    """Numbers per cell."""
    element: PositiveSize = Size("8 B")
    """Size of a number."""
    levels: Annotated[int, Field(ge=0, le=6)] = 2
    """How often a block can be divided."""
    stages: Count = 20
    """Stages of a time step."""
    checksum_every: Index = 5
    """Stages between two checksums; 0 for none."""
    refine_every: Index = 5
    """Time steps between two refinements; 0 for a mesh that stays as it is."""
    moving: Part = 0.1
    """Part of a rank's new blocks that moves to its neighbours."""
    flop_per_variable: Amount = 7.0
    """Operations per number and stage."""
    grid: Three | None = None
    """Ranks along each dimension. Default: as nearly cubic as can be."""


class Hacc(Skeleton):
    """Cosmological particles: Fourier transforms and exchanges with 26 neighbours.

    Long-range forces by pencils, short-range ones with copies (Habib et al. 2016).
    """

    kind: Literal["hacc"] = "hacc"
    """The motif."""
    flop_rate: Computing = FlopRate("10 GFLOP/s")
    """How fast a rank computes."""
    cells: Three = Field([64, 64, 64])
    """Cells of each rank along each dimension."""
    particles_per_cell: Amount = 1.0
    """Particles per cell."""
    particle: PositiveSize = Size("38 B")
    """Size of a particle."""
    overload: Count = 4
    """Depth of the zone around a box of which a rank has copies, in cells."""
    subcycles: Count = 5
    """Short-range steps in a time step."""
    flop_per_particle: Amount = 3000.0
    """Operations per particle and short-range step."""
    grid: Three | None = None
    """Ranks along each dimension. Default: as nearly cubic as can be."""


class Gtc(Skeleton):
    """Particles in a torus: shifts round it, all-reduces within its domains.

    The time step of GTC (Ethier, Tang, Lin 2005), in size A of GTC-P.
    """

    kind: Literal["gtc"] = "gtc"
    """The motif."""
    flop_rate: Computing = FlopRate("10 GFLOP/s")
    """How fast a rank computes."""
    toroidal: Count | None = None
    """Domains round the torus, a divisor of the ranks. Default: the largest up to 64."""
    plane_points: Count = 32449
    """Grid points of a poloidal plane."""
    particles_per_point: Amount = 100.0
    """Particles per grid point."""
    element: PositiveSize = Size("8 B")
    """Size of a number."""
    particle_numbers: Count = 12
    """Numbers of a particle."""
    leaving: Part = 0.1
    """Part of the particles that leaves its domain in a step, half of it each way."""
    smoothings: Count = 2
    """Exchanges of the potential."""
    flop_per_particle: Amount = 1000.0
    """Operations per particle and step."""


class Training(Skeleton):
    """A training step of a language model: data, tensor and pipeline parallelism.

    A rank is a GPU; `tensor` × `pipeline` of them hold a model, the rest of the ranks is
    data-parallel (Narayanan et al. 2021). `compute` is the time of the last stage of the pipeline.
    """

    kind: Literal["training"] = "training"
    """The motif."""
    flop_rate: Computing = FlopRate("137 TFLOP/s")
    """How fast a rank computes."""
    layers: Count = 24
    """Layers of the model, a multiple of `pipeline`."""
    hidden: Count = 2304
    """Hidden size."""
    sequence: Count = 2048
    """Words of a sequence."""
    vocabulary: Index = 51200
    """Words of the vocabulary; 0 for a model without embedding and logits."""
    micro_batch: Count = 4
    """Sequences of a micro-batch."""
    micro_batches: Count = 4
    """Micro-batches of each data-parallel rank in a step."""
    element: PositiveSize = Size("2 B")
    """Size of an activation."""
    gradient: PositiveSize = Size("2 B")
    """Size of a gradient."""
    tensor: Count = 1
    """Tensor-parallel ranks."""
    pipeline: Count = 1
    """Stages of the pipeline."""
    schedule: Literal["1f1b", "gpipe"] = "1f1b"
    """Order of the micro-batches: one forward and one backward in turn as soon as the pipeline is
    full, or all forward first."""
    bucket: PositiveSize = Size("25 MiB")
    """Gradients that are reduced together."""
    overlap: bool = True
    """Whether gradients are reduced while others are computed."""


#: All skeletons.
SKELETONS: tuple[type[Skeleton], ...] = (
    *(Halo3d26, Sweep3d, Fft, Lulesh, Amg, Milc, Nekbone, MiniAmr, Hacc, Gtc, Training),
)
