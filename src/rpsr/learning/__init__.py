"""Learning from logs: `learn`, estimators, diagnostics of their models, the choice of a plan."""

from rpsr.learning.base import Estimator, NotFitted
from rpsr.learning.caution import Caution
from rpsr.learning.diagnostics import Diagnosis, diagnose
from rpsr.learning.em.estimator import EMRPSR
from rpsr.learning.em.settings import Choosing, Fitting, Search
from rpsr.learning.estimated_models import filtered, learned_model
from rpsr.learning.estimator_names import estimator_by_name
from rpsr.learning.findings import Findings
from rpsr.learning.last_k import LastKTable
from rpsr.learning.moments.hankel import Hankel, hankel
from rpsr.learning.moments.moments import Moments
from rpsr.learning.moments.survey import Survey
from rpsr.learning.moments.window_plan import WindowPlan
from rpsr.learning.plan_choice.choice import Choice, Option, bootstrap, choose
from rpsr.learning.plan_choice.off_policy import OffPolicyEstimate, off_policy_value
from rpsr.learning.plan_choice.plausibility import PlayedOut, play_out
from rpsr.learning.prepared_log import PreparedLog
from rpsr.learning.promises.make_promise import behaviour_promise, promise
from rpsr.learning.promises.promise import Promise
from rpsr.learning.promises.safe import SafeChoice, safe_choice
from rpsr.learning.propensities import Overlap
from rpsr.learning.result import Learned
from rpsr.learning.run import learn
from rpsr.learning.spectral.discovery import DiscoveredRPSR
from rpsr.learning.spectral.estimators import SpectralPSR, SpectralRPSR
from rpsr.learning.spectral.psr_verdict import Enough, psr_enough

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
    "Learned",
    "Moments",
    "NotFitted",
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
    "estimator_by_name",
    "filtered",
    "hankel",
    "learn",
    "learned_model",
    "off_policy_value",
    "play_out",
    "promise",
    "psr_enough",
    "safe_choice",
]
