"""Value functions in other representations of the same problem.

A vector alpha of a model with corners C (k, n) has the values C alpha there. The corners of a
belief model, of its PSR and of its R-PSR are the same states of one POMDP, so those k numbers are
the vector in *belief coordinates*: b . (C alpha) is its value at belief b. Conversely, alpha solves
C alpha = values. A solution exists only for values that the representation can express, and the
conversion checks that. An R-PSR can express every policy's value.
"""

from __future__ import annotations

import numpy as np

from rpsr.errors import InputError, ModelError
from rpsr.io.records import Floats
from rpsr.models.as_model import as_linear
from rpsr.models.linear import LinearModel
from rpsr.models.pomdp import POMDP

TOLERANCE = 1e-9


def to_beliefs(model: POMDP | LinearModel, vectors: Floats) -> Floats:
    """Vectors of a model in belief coordinates, (K, n) -> (K, k)."""
    return as_linear(model).domain.at_corners(vectors.T).T


def from_beliefs(
    model: POMDP | LinearModel, values: Floats, *, tolerance: float = TOLERANCE
) -> Floats:
    """Vectors in belief coordinates as vectors of a model, (K, k) -> (K, n).

    A `ModelError` if the model cannot represent them within the tolerance, relative to the largest
    value.
    """
    model = as_linear(model)
    n_corners = model.domain.size
    if values.ndim != 2 or values.shape[1] != n_corners:
        raise InputError(f"values: read shape {values.shape}, expected (vectors, {n_corners})")
    vectors = model.domain.from_corners(values)
    off = float(np.abs(to_beliefs(model, vectors) - values).max(initial=0.0))
    scale = float(np.abs(values).max(initial=0.0))
    if off > tolerance * max(scale, float(np.finfo(float).tiny)):
        raise ModelError(
            f"the {model.kind} of {model.name} cannot represent this value function: "
            f"the closest one it can represent is off by {off:.2g} at some state"
        )
    return vectors


def translate(vectors: Floats, source: POMDP | LinearModel, target: POMDP | LinearModel) -> Floats:
    """Vectors of one representation in another one of the same POMDP, (K, n) -> (K, n')."""
    return from_beliefs(target, to_beliefs(source, vectors))
