"""Predictive state representations that get rewards right.

Public names are imported on first use, so that `rpsr --help` does not wait for numerical
libraries.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rpsr._version import __version__

if TYPE_CHECKING:
    from rpsr import domains, predictive, testing
    from rpsr.errors import ImpossibleObservation, InputError, ModelError, RpsrError
    from rpsr.models import POMDP, Filter, LinearModel, continuing, episodic
    from rpsr.predictive import accuracy, psr, rpsr
    from rpsr.sources import load, load_pomdp, save

_WHERE = {
    "Filter": "rpsr.models",
    "ImpossibleObservation": "rpsr.errors",
    "InputError": "rpsr.errors",
    "LinearModel": "rpsr.models",
    "ModelError": "rpsr.errors",
    "POMDP": "rpsr.models",
    "RpsrError": "rpsr.errors",
    "accuracy": "rpsr.predictive",
    "continuing": "rpsr.models",
    "domains": "",
    "episodic": "rpsr.models",
    "load": "rpsr.sources",
    "load_pomdp": "rpsr.sources",
    "predictive": "",
    "psr": "rpsr.predictive",
    "rpsr": "rpsr.predictive",
    "save": "rpsr.sources",
    "testing": "",
}

__all__ = [
    "POMDP",
    "Filter",
    "ImpossibleObservation",
    "InputError",
    "LinearModel",
    "ModelError",
    "RpsrError",
    "__version__",
    "accuracy",
    "continuing",
    "domains",
    "episodic",
    "load",
    "load_pomdp",
    "predictive",
    "psr",
    "rpsr",
    "save",
    "testing",
]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'rpsr' has no attribute {name!r}")
    module = _WHERE[name]
    return getattr(import_module(module), name) if module else import_module(f"rpsr.{name}")


def __dir__() -> list[str]:
    return sorted(__all__)
