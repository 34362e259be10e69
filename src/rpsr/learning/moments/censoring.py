"""Weights of windows that contain the end of a task, to correct for recordings that are cut off.

Only complete windows count. A window that contains the end of its task is always complete; without
the end, the recording might have been cut off within the window. To count all of these selects
windows by their outcome, a bias that more data does not remove. So a window that would last until
step u, in an episode that ended after t steps, has the weight

    S(u) / S(t),      S(t) = prod_(lengths l < t) (1 - cut at l / at risk at l),

where S(t) is the product-limit estimate of the probability that a recording is not cut off before t
steps. The weight is 1 if no recording is cut off, and 0 or 1 if all are cut off at one length. The
time of the cut must be independent of the actions and observations.

Reference: E. L. Kaplan, P. Meier. Nonparametric estimation from incomplete observations. JASA 1958.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from rpsr.errors import DataError
from rpsr.io.records import Floats, Ints
from rpsr.logs import Trajectories


@dataclass(frozen=True)
class Censoring:
    """Ascending lengths (K,) at which recordings are cut off, and the shares (K,) that last longer.

    Ends of tasks and cuts of recordings are assumed independent.
    """

    lengths: tuple[int, ...] = ()
    lasting: tuple[float, ...] = ()

    @staticmethod
    def of(cut: Counter[int], ended: Counter[int]) -> Censoring:
        """From the numbers of recordings of each length that were cut off, and that ended."""
        if not ended or not cut:
            return Censoring()
        lengths = np.array(sorted(cut))
        counts = np.array([cut[length] for length in lengths.tolist()])
        # At risk: recordings that were cut at this length or later, or ended later.
        ends = np.array(sorted(ended))
        after = np.append(np.cumsum([ended[end] for end in ends[::-1].tolist()])[::-1], 0)
        at_risk = counts[::-1].cumsum()[::-1] + after[np.searchsorted(ends, lengths, "right")]
        lasting = np.multiply.accumulate(1 - counts / at_risk)
        return Censoring(tuple(lengths.tolist()), tuple(lasting.tolist()))

    def _lasts(self, steps: Ints) -> Floats:
        """S(steps): the share of recordings that are not cut before this many steps."""
        return np.array([1.0, *self.lasting])[np.searchsorted(self.lengths, steps)]

    def shares(self, log: Trajectories, depth: int) -> Floats:
        """The weight of the window of depth + 1 steps that begins at each step, (L,)."""
        shares = np.ones(log.steps)
        if not self.lengths:
            return shares
        last = log.ends
        lengths = last - log.offsets[np.searchsorted(log.offsets, last, "right") - 1] + 1
        if not self._lasts(lengths).all():
            read = int(lengths.max())
            raise DataError(
                f"read an episode of {read} steps; in the log that these moments were set up for, "
                f"all recordings were cut off after at most {self.lengths[-1]} steps"
            )
        for back in range(depth):  # steps from the window's first to the end
            inside = back < lengths
            whole = (lengths - back + depth)[inside]
            shares[last[inside] - back] = self._lasts(whole) / self._lasts(lengths[inside])
        return shares
