"""Privacy accounting and noise: budgets, the ledger, units of privacy and noise mechanisms."""

from snhkit.privacy.audit import (
    Audit,
    audit_mechanism,
    audited_epsilon,
    epsilon_lower_bound,
)
from snhkit.privacy.buckets import noisy_buckets
from snhkit.privacy.budget import Budget, Epsilon, exact, exact_delta, written
from snhkit.privacy.contributions import contributions
from snhkit.privacy.count_source import CountSource, PointSource
from snhkit.privacy.entropy import Entropy, ReplayableEntropy, SystemEntropy
from snhkit.privacy.entry import Entry
from snhkit.privacy.gradients import NoisyGradients, gradient_noise, noisy_gradient
from snhkit.privacy.ledger import Ledger
from snhkit.privacy.measurements import Measurements
from snhkit.privacy.membership import largest_accuracy, membership_accuracy
from snhkit.privacy.noise import (
    discrete_gaussian,
    discrete_laplace,
    gaussian_for_demonstration,
    noisy_count,
    noisy_histogram,
)
from snhkit.privacy.products import column_norm, noisy_products
from snhkit.privacy.quantile import NoisyContributions, NoisyQuantile
from snhkit.privacy.spend import Cost, Spend, total
from snhkit.privacy.splits import noisy_splits
from snhkit.privacy.stored_ledger import StoredLedger, read_ledger
from snhkit.privacy.terms import Terms
from snhkit.privacy.unit import PrivacyUnit
from snhkit.privacy.variance import Noisy, noise_variance
from snhkit.privacy.zcdp import Rho, epsilon_of, pure_rho, rho_of

__all__ = [
    "Audit",
    "Budget",
    "Cost",
    "CountSource",
    "Entropy",
    "Entry",
    "Epsilon",
    "Ledger",
    "Measurements",
    "Noisy",
    "NoisyContributions",
    "NoisyGradients",
    "NoisyQuantile",
    "PointSource",
    "PrivacyUnit",
    "ReplayableEntropy",
    "Rho",
    "Spend",
    "StoredLedger",
    "SystemEntropy",
    "Terms",
    "audit_mechanism",
    "audited_epsilon",
    "column_norm",
    "contributions",
    "discrete_gaussian",
    "discrete_laplace",
    "epsilon_lower_bound",
    "epsilon_of",
    "exact",
    "exact_delta",
    "gaussian_for_demonstration",
    "gradient_noise",
    "largest_accuracy",
    "membership_accuracy",
    "noise_variance",
    "noisy_buckets",
    "noisy_count",
    "noisy_gradient",
    "noisy_histogram",
    "noisy_products",
    "noisy_splits",
    "pure_rho",
    "read_ledger",
    "rho_of",
    "total",
    "written",
]
