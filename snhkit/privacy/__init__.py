"""Privacy: budgets, the ledger, the unit that is hidden, and the noise that hides it."""

from snhkit.privacy.budget import Budget, Epsilon, exact, written
from snhkit.privacy.entry import Entry
from snhkit.privacy.gradients import gradient_noise, noisy_gradient, require_accounting
from snhkit.privacy.ledger import Ledger
from snhkit.privacy.noise import (
    Entropy,
    ReplayableEntropy,
    SystemEntropy,
    discrete_laplace,
    gaussian_for_demonstration,
    noisy_count,
    noisy_histogram,
)
from snhkit.privacy.spend import Spend, total, total_delta
from snhkit.privacy.splits import noisy_splits
from snhkit.privacy.unit import PrivacyUnit

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
    "discrete_laplace",
    "exact",
    "gaussian_for_demonstration",
    "gradient_noise",
    "noisy_count",
    "noisy_gradient",
    "noisy_histogram",
    "noisy_splits",
    "require_accounting",
    "total",
    "total_delta",
    "written",
]
