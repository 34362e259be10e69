"""Scalar products of stretches of arrays, for kernels.

A loop that adds products one by one waits for each sum, and a compiler may not change the order of
floating-point operations. So numba makes no vector instructions of such a loop, unless the result
may depend on the processor. Here several sums are computed side by side, by vector instructions
that this module writes itself: three times as fast. The order of operations is fixed, so all
machines, and the interpreter, compute equal sums.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpsr.kernels import Kernel, njit

Floats = NDArray[np.float64]

LANES = 4  # sums side by side; a power of 2


class _Vectorised(Kernel):
    """A kernel that compiles to vector instructions. Only other kernels can call it."""

    def __init__(self, function: Callable[..., float]) -> None:
        super().__init__(function, {})

    @property
    def _numba_type_(self) -> Any:
        from numba.core.registry import cpu_target

        intrinsic = _vector_instructions()
        context: Any = cpu_target.typing_context
        context.refresh()  # so that it finds the intrinsic
        return context.resolve_value_type(intrinsic)


@_Vectorised
def whole_lanes(weights: Floats, first: int, values: Floats, at: int, length: int) -> float:
    """The scalar product of two stretches whose length is a multiple of `LANES`."""
    products = weights[first : first + length] * values[at : at + length]
    zero, one, two, three = np.zeros(LANES)
    for t in range(0, length, LANES):
        zero += products[t]
        one += products[t + 1]
        two += products[t + 2]
        three += products[t + 3]
    return (zero + two) + (one + three)


@njit(cache=True, inline="always")
def dot(weights: Floats, first: int, values: Floats, at: int, length: int) -> float:
    """The scalar product of `weights` from `first` on and `values` from `at` on."""
    whole = length // LANES * LANES
    total = whole_lanes(weights, first, values, at, whole)
    for t in range(whole, length):
        total += weights[first + t] * values[at + t]
    return total


@cache
def _vector_instructions() -> Any:
    """`whole_lanes` as an intrinsic of numba, in LLVM's language."""
    import numba.extending
    from llvmlite import ir
    from numba.core import cgutils, types

    lanes, whole, index = ir.VectorType(ir.DoubleType(), LANES), ir.IntType(64), ir.IntType(32)

    def part(builder: Any, vector: Any, begin: int, width: int) -> Any:
        chosen = ir.Constant(ir.VectorType(index, width), list(range(begin, begin + width)))
        return builder.shuffle_vector(vector, ir.Constant(vector.type, ir.Undefined), chosen)

    def product(typing: Any, weights: Any, first: Any, values: Any, at: Any, length: Any) -> Any:
        del typing, first, at, length  # the types of integers are in the signature
        integer = types.int64
        signature = types.float64(weights, integer, values, integer, integer)

        def generate(context: Any, builder: Any, _signature: Any, given: Any) -> Any:
            begins = [
                builder.gep(context.make_array(array)(context, builder, given[n]).data, [given[m]])
                for array, n, m in ((weights, 0, 1), (values, 2, 3))
            ]
            total = cgutils.alloca_once_value(builder, ir.Constant(lanes, [0.0] * LANES))
            steps = ir.Constant(whole, 0), given[4], ir.Constant(whole, LANES)
            with cgutils.for_range_slice(builder, *steps, whole) as (t, _):
                places = [builder.gep(begin, [t]) for begin in begins]
                pointers = [builder.bitcast(place, lanes.as_pointer()) for place in places]
                loaded = [builder.load(pointer, align=8) for pointer in pointers]
                builder.store(builder.fadd(builder.load(total), builder.fmul(*loaded)), total)
            sums, width = builder.load(total), LANES
            while width > 1:  # the upper half of the sums is added to the lower one
                width //= 2
                halves = [part(builder, sums, begin, width) for begin in (0, width)]
                sums = builder.fadd(*halves)
            return builder.extract_element(sums, ir.Constant(index, 0))

        return signature, generate

    extending: Any = numba.extending
    return extending.intrinsic(product)
