"""The smallest space that holds some vectors and is closed under some operators, in floats.

Start from an orthonormal basis of the vectors, apply the operators to the *basis*, keep what sticks
out of it most, orthonormalise that and repeat until nothing sticks out. Applying them to basis
vectors instead of to ever longer products of operators keeps directions from decaying, and a
direction that is weak at first is left for a round in which it is strong: on real models all are
taken with sizes near 0.1, where taking each as it comes takes some at 1e-9. Dividing each operator
by its norm keeps rare observations from counting less than common ones.

The margin of the decision is the smallest singular value kept, and the largest with which images of
the basis stick out in the end. A direction kept with size d carries an error of rounding / d: what
sticks out must be about that small, since more is no rounding but a direction too rare to follow,
and d must be larger than that.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rpsr import deadline
from rpsr.io.records import Floats

TOLERANCE = 1e-9  # of a unit vector; rounding is near 1e-14
STRONG = 0.1  # of the largest in a round; weaker ones wait
CLEAR = 100  # a rank is clear if what is kept is this many times what is dropped
ROUNDING = 1e-14


def close(
    vectors: Floats, images: Callable[[Floats], Floats], tolerance: float = TOLERANCE
) -> tuple[Floats, tuple[float, float]]:
    """An orthonormal basis (size, n) of the closure of columns `vectors` (size, k); the margin.

    images maps basis columns (size, c) to columns that span all their images.
    """
    size = len(vectors)
    basis = np.zeros((size, 0))
    kept = np.inf
    block = vectors
    while True:
        deadline.check(10 * size * block.shape[1] * min(block.shape))
        for _ in range(2):  # twice is enough
            block = block - basis @ (basis.T @ block)
        directions, sizes, _ = np.linalg.svd(block, full_matrices=False)
        if sizes[0] <= tolerance:
            return basis, (kept, float(sizes[0]))
        count = int((sizes > max(tolerance, STRONG * float(sizes[0]))).sum())
        kept = min(kept, float(sizes[count - 1]))
        deadline.check(2 * size * (basis.shape[1] + count) ** 2)
        basis = np.linalg.qr(np.concatenate([basis, directions[:, :count]], axis=1))[0]
        if basis.shape[1] == size:
            return basis, (kept, 0.0)
        block = np.concatenate([vectors, images(basis)], axis=1)


def is_clear(margin: tuple[float, float]) -> bool:
    """Whether what was kept and what was dropped are far enough apart to trust the rank."""
    kept, dropped = margin
    return kept >= max(CLEAR * dropped, np.sqrt(ROUNDING)) and kept * dropped <= ROUNDING
