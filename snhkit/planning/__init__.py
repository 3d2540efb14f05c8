"""The errors to expect of methods, and the method to choose, before any epsilon is spent."""

from snhkit.planning.expected import epsilon_for, expected_error
from snhkit.planning.recommend import Recommendation, recommend
from snhkit.planning.table import plan_table

__all__ = ["Recommendation", "epsilon_for", "expected_error", "plan_table", "recommend"]
