"""When recordings are cut off, so that ends of tasks are not counted more often than they come.

A window of steps counts if it is complete. One that runs into the end of its task is, whatever
would have come; had the task gone on, the recording might have been cut off first, and the window
would be none. To count every end is to choose windows by their outcome, and more data does not cure
it. So a window that runs into an end counts with the probability that a recording which lasted till
then lasts for the whole window, by the product-limit estimate: all or nothing where all recordings
are cut at one length, and all where none is. When recordings are cut must not go with what is done
or seen in them.

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
    """Lengths (K,), rising, at which recordings are cut off, and the shares (K,) that last longer.

    Times at which tasks end say nothing of when recordings are cut, and the other way round.
    """

    lengths: tuple[int, ...] = ()
    lasting: tuple[float, ...] = ()

    @staticmethod
    def of(cut: Counter[int], ended: Counter[int]) -> Censoring:
        """From how many recordings of each length were cut off, and how many came to an end."""
        if not ended or not cut:
            return Censoring()
        lengths = np.array(sorted(cut))
        counts = np.array([cut[length] for length in lengths.tolist()])
        # Those that were cut at this length or later, and those that went on beyond it to an end.
        ends = np.array(sorted(ended))
        after = np.append(np.cumsum([ended[end] for end in ends[::-1].tolist()])[::-1], 0)
        at_risk = counts[::-1].cumsum()[::-1] + after[np.searchsorted(ends, lengths, "right")]
        lasting = np.multiply.accumulate(1 - counts / at_risk)
        return Censoring(tuple(lengths.tolist()), tuple(lasting.tolist()))

    def _lasts(self, steps: Ints) -> Floats:
        """The share of recordings that are not cut before so many steps."""
        return np.array([1.0, *self.lasting])[np.searchsorted(self.lengths, steps)]

    def shares(self, log: Trajectories, depth: int) -> Floats:
        """With what share the window counts that begins at each step and has depth more, (L,)."""
        shares = np.ones(log.steps)
        if not self.lengths:
            return shares
        last = log.ends
        lengths = last - log.offsets[np.searchsorted(log.offsets, last, "right") - 1] + 1
        if not self._lasts(lengths).all():
            read = int(lengths.max())
            raise DataError(
                f"read an episode of {read} steps; when the plan was made, all recordings were cut "
                f"off at {self.lengths[-1]} or before"
            )
        for back in range(depth):  # steps from the window's first to the end
            inside = back < lengths
            whole = (lengths - back + depth)[inside]
            shares[last[inside] - back] = self._lasts(whole) / self._lasts(lengths[inside])
        return shares
