"""Times of several nodes' clocks, brought onto one.

Every node's clock has an offset from rank 0's, which grows or shrinks with time because no two
quartzes are alike: some millionths. The offset is estimated before and after a series by the
fastest of several exchanges (as in Hunold and Carpen-Amarie, "Reproducible MPI Benchmarking Is
Still Not as Easy as You Think", IEEE TPDS 27 (2016), section 4), and taken to change linearly in
between.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Nanoseconds = NDArray[np.int64]


@dataclass(frozen=True)
class Clocks:
    """The clocks of ranks beside rank 0's, between two estimates.

    Attributes:
        before: First estimate. Shape: ranks × 3 (rank 0's time, offset, largest error), ns.
        after: Second estimate, of the same shape.
    """

    before: Nanoseconds
    after: Nanoseconds

    @property
    def drift_ppm(self) -> NDArray[np.float64]:
        """By how many millionths each clock runs faster than rank 0's.

        0 where the estimates differ by no more than their errors: no drift is seen then.
        """
        apart = np.maximum(self.after[:, 0] - self.before[:, 0], 1)
        change = self.after[:, 1] - self.before[:, 1]
        seen = np.abs(change) > self.after[:, 2] + self.before[:, 2]
        return np.asarray(np.where(seen, change / apart * 1e6, 0.0))

    def to_first(self, local: Nanoseconds) -> Nanoseconds:
        """Times of each rank's own clock as rank 0's clock had them.

        Args:
            local: Shape: iterations × ranks, ns.
        """
        slope = self.drift_ppm * 1e-6
        # Without a drift that is seen, the better of two estimates of the same offset is taken.
        better = self.before[:, 2] <= self.after[:, 2]
        offset = np.where((slope != 0) | better, self.before[:, 1], self.after[:, 1])
        # At rank 0's time t the clock shows t + offset + slope · (t − t_before).
        since = local - (self.before[:, 0] + offset)
        correction = np.rint(since * (slope / (1 + slope))).astype(np.int64)
        return np.asarray(local - offset - correction)
