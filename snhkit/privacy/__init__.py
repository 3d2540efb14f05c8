"""Privacy: budgets, the ledger, the unit that is hidden, and the noise that hides it."""

from snhkit.privacy.buckets import BucketCosts, noisy_buckets
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
from snhkit.privacy.spend import Spend, total
from snhkit.privacy.splits import noisy_splits
from snhkit.privacy.unit import PrivacyUnit

__all__ = [
    "BucketCosts",
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
    "noisy_buckets",
    "noisy_count",
    "noisy_histogram",
    "noisy_splits",
    "total",
    "written",
]
