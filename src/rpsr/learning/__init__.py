"""Learning linear models from logs: moments, spectral estimates, and how good they are."""

from rpsr.learning.base import Estimator
from rpsr.learning.discovery import DiscoveredRPSR
from rpsr.learning.enough import Enough, psr_enough
from rpsr.learning.learned import Assessment, assess, filtered, learned_model
from rpsr.learning.moments import Moments
from rpsr.learning.moments_hankel import Hankel, hankel
from rpsr.learning.moments_plan import Survey, WindowPlan
from rpsr.learning.propensities import Overlap
from rpsr.learning.spectral import SpectralPSR, SpectralRPSR

__all__ = [
    "Assessment",
    "DiscoveredRPSR",
    "Enough",
    "Estimator",
    "Hankel",
    "Moments",
    "Overlap",
    "SpectralPSR",
    "SpectralRPSR",
    "Survey",
    "WindowPlan",
    "assess",
    "filtered",
    "hankel",
    "learned_model",
    "psr_enough",
]
