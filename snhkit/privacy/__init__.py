"""Privacy accounting and noise: budgets, the ledger, units of privacy and noise mechanisms."""

from snhkit.privacy.audit import (
    Audit,
    audit_mechanism,
    audited_epsilon,
    epsilon_lower_bound,
    largest_accuracy,
    membership_accuracy,
)
from snhkit.privacy.budget import Budget, Epsilon, exact, written
from snhkit.privacy.count_source import PointSource
from snhkit.privacy.entropy import Entropy, ReplayableEntropy, SystemEntropy
from snhkit.privacy.entry import Entry
from snhkit.privacy.ledger import Ledger
from snhkit.privacy.measurements import Measurements, Terms
from snhkit.privacy.noise import (
    discrete_gaussian,
    discrete_laplace,
    noisy_count,
    noisy_histogram,
)
from snhkit.privacy.quantile import NoisyContributions, NoisyQuantile, contributions
from snhkit.privacy.scale import Noisy, noise_variance
from snhkit.privacy.spend import Spend
from snhkit.privacy.stored_ledger import read_ledger
from snhkit.privacy.unit import PrivacyUnit
from snhkit.privacy.zcdp import Rho, epsilon_of, rho_of

__all__ = [
    "Audit",
    "Budget",
    "Entropy",
    "Entry",
    "Epsilon",
    "Ledger",
    "Measurements",
    "Noisy",
    "NoisyContributions",
    "NoisyQuantile",
    "PointSource",
    "PrivacyUnit",
    "ReplayableEntropy",
    "Rho",
    "Spend",
    "SystemEntropy",
    "Terms",
    "audit_mechanism",
    "audited_epsilon",
    "contributions",
    "discrete_gaussian",
    "discrete_laplace",
    "epsilon_lower_bound",
    "epsilon_of",
    "exact",
    "largest_accuracy",
    "membership_accuracy",
    "noise_variance",
    "noisy_count",
    "noisy_histogram",
    "read_ledger",
    "rho_of",
    "written",
]
