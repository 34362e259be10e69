"""Where the expectation step of EM runs: on the processor, or on a GPU if there is one.

The accelerator needs JAX, which takes long to import; so it is imported only if it is asked for, or
if it is installed with support for a GPU and the log is large.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Literal

from rpsr.errors import InputError

if TYPE_CHECKING:
    from rpsr.learning.em.fitted_pomdp import Encoded
    from rpsr.learning.em.jax_kernels import Resident

Device = Literal["auto", "cpu", "gpu"]
LARGE = 200_000  # steps: on a smaller log, a GPU gains little


@cache
def has_gpu() -> bool:
    """Whether JAX is installed and sees a GPU."""
    if find_spec("jax") is None:
        return False
    import jax

    return jax.default_backend() == "gpu"


def check_device(device: str) -> None:
    """An `InputError` if a GPU is asked for and there is none that JAX can use."""
    if device == "gpu" and not has_gpu():
        missing = "JAX is not installed" if find_spec("jax") is None else "JAX sees none"
        raise InputError(f"device: a GPU was asked for, but {missing}: pip install 'rpsr[gpu]'")


def resident(log: Encoded) -> Resident | None:
    """The log on the GPU; None if the processor is to be used.

    'auto' looks for a GPU only where JAX has a plug-in for one.
    """
    pays = log.device == "auto" and len(log.steps) >= LARGE and _plugged() and has_gpu()
    if not (pays or log.device == "gpu"):
        return None
    from rpsr.learning.em.jax_kernels import Resident

    return Resident(log.steps, log.offsets, log.terminated)


def _plugged() -> bool:
    return find_spec("jax_plugins") is not None
