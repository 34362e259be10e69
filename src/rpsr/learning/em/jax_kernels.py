"""The expectation step of EM on an accelerator: the same counts as `kernels.expect`, by JAX.

Episodes run side by side, one step of all of them at a time. The moves of all actions are one
matrix (A S, S): a belief is written into the block of the action that was taken, so that a step of
B episodes is one product (B, A S) x (A S, S), and the expected moves of a step are another. Both
run at the speed of matrix products, whatever action each episode takes.

JAX, because one source compiles for accelerators and for processors, and its build for processors
is small enough for the tests. It computes in double precision here, without changing how it
computes elsewhere in the process.

Episodes are sorted by length and cut into batches of about `BATCH` numbers per array. In a batch
they are padded to the longest; padded steps change nothing. Batches stay on the device between
iterations, so that an iteration transfers the parameters and the counts only.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from rpsr.io.records import Bools, Floats, Ints
from rpsr.learning.em.kernels import TINY

BATCH = 2**27  # numbers: the filtered beliefs of one batch, a gigabyte
FEW_ROWS = 512  # of counts: with more, adding row by row is faster than a product


def description() -> str:
    """The kind of the device that is used."""
    return str(jax.devices()[0].device_kind)


class Resident:
    """A log on the device: steps (L, 3) of (a, o, j), offsets (N + 1,), terminated (N,)."""

    def __init__(self, steps: Ints, offsets: Ints, terminated: Bools) -> None:
        self._log = steps, offsets, terminated
        self._size = 0
        self._batches: list[tuple[Any, ...]] = []

    def expect(
        self, start: Floats, T: Floats, O: Floats, W: Floats, end: int
    ) -> tuple[list[Floats], float]:
        """Expected counts of starts, moves, emissions and payoffs, and the log-likelihood.

        The counts of moves still lack their factor T, as in `kernels.expect`.
        """
        self._move(len(start))
        with jax.enable_x64(True):
            parameters = tuple(map(jnp.asarray, (start, T, O, W)))
            totals = [np.zeros(array.shape) for array in (start, T, O, W)]
            likelihood = 0.0
            for batch in self._batches:
                *counts, part = expectation(*parameters, end, batch)
                for total, count in zip(totals, counts, strict=True):
                    total += np.asarray(count)
                likelihood += float(part)
        return totals, likelihood

    def _move(self, states: int) -> None:
        """Move the log to the device, in batches that suit a number of states."""
        size = 1 << max(0, (BATCH // states).bit_length() - 1)  # few sizes: few moves
        if size != self._size:
            self._batches = [
                tuple(map(jax.device_put, batch)) for batch in padded(*self._log, size)
            ]
            self._size = size


def padded(steps: Ints, offsets: Ints, terminated: Bools, numbers: int) -> Iterator[list[Any]]:
    """Batches of B episodes, padded to T steps, with at most `numbers` steps in all.

    Each has actions, observations and payoffs (T, B); valid (T, B): whether a step exists; ends
    (T, B): whether its episode terminates with it.
    """
    lengths = np.diff(offsets)
    order = np.argsort(-lengths, kind="stable")
    order = order[lengths[order] > 0]
    begin = 0
    while begin < len(order):
        longest = int(lengths[order[begin]])
        chosen = order[begin : begin + max(1, numbers // longest)]
        begin += len(chosen)
        time = np.arange(longest)[:, None]
        valid = time < lengths[chosen]
        place = np.minimum(offsets[chosen] + time, offsets[chosen + 1] - 1)
        ends = terminated[chosen] & (time == lengths[chosen] - 1)
        arrays = [steps[place, column].astype(np.int32) for column in range(3)]
        yield [*arrays, valid, ends]


def added(counts: Any, rows: Any, terms: Any) -> Any:
    """Counts (R, S) with each of the terms (B, S) added to its row, (B,).

    A product is fast while rows are few, and adds in the same order each time.
    """
    if len(counts) > FEW_ROWS:
        return counts.at[rows].add(terms)
    return counts + jax.nn.one_hot(rows, len(counts), dtype=terms.dtype).T @ terms


@partial(jax.jit, static_argnums=4)
def expectation(
    start: Any, T: Any, O: Any, W: Any, end: int, batch: tuple[Any, ...]
) -> tuple[Any, ...]:
    """Expected counts of one batch, shaped as start (S,), T (A, S, S), O (A, O, S), W (J, S).

    Returned with the log-likelihood, last. The counts of moves still lack their factor T.
    """
    actions, observations, payoffs, valid, ends = batch
    n_actions, states, _ = T.shape
    moves, back = T.reshape(n_actions * states, states), T.transpose(0, 2, 1)
    is_end = jnp.arange(states) == end
    emission = O.reshape(-1, states)

    def in_block(beliefs: Any, a: Any) -> Any:
        taken = jax.nn.one_hot(a, n_actions, dtype=beliefs.dtype)
        return (taken[:, :, None] * beliefs[:, None, :]).reshape(len(beliefs), -1)

    def filtered(belief: Any, step: Any) -> Any:
        a, o, j, exists, last = step
        after = in_block(belief * W[j], a) @ moves * emission[a * O.shape[1] + o]
        if end >= 0:
            after = jnp.where(is_end[None, :] == last[:, None], after, 0.0)
        scale = jnp.maximum(after.sum(axis=1), TINY)
        following = jnp.where(exists[:, None], after / scale[:, None], belief)
        return following, (following, jnp.where(exists, scale, 1.0))

    first = jnp.broadcast_to(start, (actions.shape[1], states))
    _, (after, scales) = jax.lax.scan(
        filtered, first, (actions, observations, payoffs, valid, ends)
    )
    before = jnp.concatenate([first[None], after[:-1]])

    def counted(carry: Any, step: Any) -> Any:
        beta, move_counts, emission_counts, payoff_counts = carry
        a, o, j, exists, belief, following, scale = step
        shown = a * O.shape[1] + o
        seen = jnp.where(exists[:, None], following * beta, 0.0)
        ahead = jnp.where(following == 0.0, 0.0, emission[shown] * beta / scale[:, None])
        weight = jnp.where(exists[:, None], belief * W[j], 0.0)
        # (B, S) x (S, A S): what follows each action, of which the one taken is kept.
        every = (ahead @ back.transpose(1, 0, 2).reshape(states, -1)).reshape(-1, n_actions, states)
        product = jnp.take_along_axis(every, a[:, None, None], axis=1)[:, 0]
        carry = (
            jnp.where(exists[:, None], W[j] * product, beta),
            move_counts + in_block(weight, a).T @ ahead,
            added(emission_counts, shown, seen),
            added(payoff_counts, j, weight * product),
        )
        return carry, None

    empty = (
        jnp.ones_like(first),
        jnp.zeros_like(moves),
        jnp.zeros_like(emission),
        jnp.zeros_like(W),
    )
    steps = (actions, observations, payoffs, valid, before, after, scales)
    (beta, move_counts, emission_counts, payoff_counts), _ = jax.lax.scan(
        counted, empty, steps, reverse=True
    )
    return (
        (first * beta).sum(axis=0),
        move_counts.reshape(T.shape),
        emission_counts.reshape(O.shape),
        payoff_counts,
        jnp.log(scales).sum(),
    )
