"""Learning from logs: estimators, diagnostics of their models, and the choice of a plan."""

from rpsr.learning.base import Estimator
from rpsr.learning.caution import Caution
from rpsr.learning.diagnostics import Diagnosis, diagnose
from rpsr.learning.em.estimator import EMRPSR
from rpsr.learning.em.settings import Choosing, Fitting, Search
from rpsr.learning.estimated_models import filtered, learned_model
from rpsr.learning.findings import Findings
from rpsr.learning.last_k import LastKTable
from rpsr.learning.moments.hankel import Hankel, hankel
from rpsr.learning.moments.sums import Moments
from rpsr.learning.moments.survey import Survey
from rpsr.learning.moments.window_plan import WindowPlan
from rpsr.learning.plan_choice.choice import Choice, Option, bootstrap, choose
from rpsr.learning.plan_choice.off_policy import OffPolicyEstimate, off_policy_value
from rpsr.learning.plan_choice.plausibility import PlayedOut, play_out
from rpsr.learning.prepared_log import PreparedLog
from rpsr.learning.promises.promise import behaviour_promise, promise
from rpsr.learning.promises.record import Promise
from rpsr.learning.promises.safe import SafeChoice, safe_choice
from rpsr.learning.propensities import Overlap
from rpsr.learning.spectral.discovery import DiscoveredRPSR
from rpsr.learning.spectral.enough import Enough, psr_enough
from rpsr.learning.spectral.estimators import SpectralPSR, SpectralRPSR

__all__ = [
    "EMRPSR",
    "Caution",
    "Choice",
    "Choosing",
    "Diagnosis",
    "DiscoveredRPSR",
    "Enough",
    "Estimator",
    "Findings",
    "Fitting",
    "Hankel",
    "LastKTable",
    "Moments",
    "OffPolicyEstimate",
    "Option",
    "Overlap",
    "PlayedOut",
    "PreparedLog",
    "Promise",
    "SafeChoice",
    "Search",
    "SpectralPSR",
    "SpectralRPSR",
    "Survey",
    "WindowPlan",
    "behaviour_promise",
    "bootstrap",
    "choose",
    "diagnose",
    "filtered",
    "hankel",
    "learned_model",
    "off_policy_value",
    "play_out",
    "promise",
    "psr_enough",
    "safe_choice",
]
