"""The smallest space that contains some vectors and is closed under some operators, in floats.

Start from an orthonormal basis of the vectors. Apply the operators to the *basis*, take the parts
of the images outside the span, orthonormalise the largest of these residuals and add them; repeat
until no residual is left. Products with basis vectors do not decay as ever longer products of
operators do, and a direction that is weak at first is added in a later round, in which it is
strong: on real models all are added with sizes near 0.1; adding each immediately would take some at
1e-9. Each operator is divided by its norm, so that rare observations count as much as common ones.

The margin of the decision is the smallest singular value kept, and the largest residual of images
of the basis at the end. A direction kept with size d has an error of rounding / d. The final
residual must be about that small, since a larger one is not rounding but a direction too rare to
follow, and d must be larger than that.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rpsr import deadline
from rpsr.io.records import Floats

TOLERANCE = 1e-9  # of a unit vector; rounding is near 1e-14
STRONG = 0.1  # relative to the largest in a round; weaker ones wait
CLEAR = 100  # a rank is clear if the smallest kept is this many times the largest dropped
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
        for _ in range(2):  # orthogonalising twice suffices
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
    """Whether the smallest kept and the largest dropped direction are far enough apart."""
    kept, dropped = margin
    return kept >= max(CLEAR * dropped, np.sqrt(ROUNDING)) and kept * dropped <= ROUNDING


def unclear(margin: tuple[float, float]) -> str:
    """The words for a margin that is not clear."""
    kept, dropped = margin
    return (
        f"the smallest singular value that counts as nonzero is {kept:.2g}, the largest one that "
        f"counts as rounding error is {dropped:.2g}"
    )
