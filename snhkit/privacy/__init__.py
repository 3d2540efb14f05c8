"""Privacy: budgets, the ledger, the unit that is hidden, and the noise that hides it."""

from snhkit.privacy.audit import audited_epsilon, epsilon_lower_bound
from snhkit.privacy.budget import Budget, Epsilon, exact, written
from snhkit.privacy.entry import Entry
from snhkit.privacy.ledger import Ledger
from snhkit.privacy.noise import (
    Entropy,
    ReplayableEntropy,
    SystemEntropy,
    discrete_laplace,
    noisy_count,
    noisy_histogram,
)
from snhkit.privacy.products import column_norm, noisy_products
from snhkit.privacy.spend import Spend, total
from snhkit.privacy.splits import noisy_splits
from snhkit.privacy.unit import PrivacyUnit
from snhkit.privacy.variance import noise_variance

__all__ = [
    "Budget",
    "Entropy",
    "Entry",
    "Epsilon",
    "Ledger",
    "PrivacyUnit",
    "ReplayableEntropy",
    "Spend",
    "SystemEntropy",
    "audited_epsilon",
    "column_norm",
    "discrete_laplace",
    "epsilon_lower_bound",
    "exact",
    "noise_variance",
    "noisy_count",
    "noisy_histogram",
    "noisy_products",
    "noisy_splits",
    "total",
    "written",
]
