"""Which expected rewards at the corners are exactly 0: without a discount, bounds depend on it.

A reward in a loop is collected at every step, however small it is. If the exact POMDP behind the
corners is known, its rewards are compared with 0 in fractions. Otherwise a PSR or an R-PSR has its
rewards up to rounding only, and a reward within the known error of 0 is taken to be 0.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rpsr.errors import ModelError
from rpsr.io.records import Bools, Floats, Integers, Ints, ratios
from rpsr.models.expectations import exact_expectations
from rpsr.models.rounding import products
from rpsr.planning.corners.corner_model import CornerProcess

Exact = tuple[Integers, Integers]  # numerators and denominators, (A, S) each

TINY = float(np.finfo(np.float64).tiny)  # instead of a reward that is too small for floats


def reward_noise(process: CornerProcess) -> float:
    """The largest known error of an expected reward at a corner."""
    noise = process.model.reward_error
    if process.model.record is None:
        noise += products(process.model.dimension) * float(np.abs(process.rewards).max())
    return noise


def exact_rewards(process: CornerProcess) -> Exact | None:
    """R(s, a) of the POMDP whose states are the corners before merging.

    None if the POMDP is not known exactly, or if the model has other rewards: these differ from the
    POMDP's by more than their known error.
    """
    record = process.record
    if record is None or not record.exact:
        return None
    numerators, denominators = exact_expectations(record)
    shape = (len(process.rewards), len(process.corner_of))
    known = ratios(numerators, denominators).reshape(shape)[:, _first(process)]
    if (np.abs(known - process.rewards) > reward_noise(process)).any():
        return None
    return numerators.reshape(shape), denominators.reshape(shape)


def with_exact_signs(process: CornerProcess, exact: Exact | None) -> CornerProcess:
    """The process with rewards 0 where the model's are, and of the right signs elsewhere.

    exact: `exact_rewards`, or None. A `ModelError` if merged corners have rewards of unlike signs.
    """
    rewards, first = process.rewards, _first(process)
    if exact is None:
        near: Bools = np.abs(rewards) <= reward_noise(process)
        return replace(process, rewards=np.where(near, 0.0, rewards))
    signs = np.sign(exact[0]).astype(np.int64)
    unlike = np.argwhere(signs != signs[:, first][:, process.corner_of])
    if len(unlike):
        a, s = unlike[0].tolist()
        assert process.record is not None, "its rewards are known"
        names = process.record.states
        raise ModelError(
            f"{process.model.name}: floats cannot tell states "
            f"{names[first[process.corner_of[s]]]!r} and {names[s]!r} apart, but the rewards of "
            f"action {process.model.actions[a]!r} in these states have different signs; plan on "
            "the POMDP, or give a discount below 1 or a number of steps"
        )
    sign = signs[:, first]
    known: Floats = ratios(*(part[:, first].ravel() for part in exact)).reshape(rewards.shape)
    return replace(process, rewards=np.where(known == 0, sign * TINY, known))


def _first(process: CornerProcess) -> Ints:
    """The first corner of the model that each merged corner stands for, (k,)."""
    return np.unique(process.corner_of, return_index=True)[1]
