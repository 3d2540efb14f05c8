"""The few ways in which snhkit says no."""

__all__ = ["BudgetExceeded", "InputError", "ReleaseFileError", "SnhkitError"]


class SnhkitError(Exception):
    """Whatever snhkit raises on purpose."""


class InputError(SnhkitError, ValueError):
    """An argument, a file or a row that cannot be used; says what, where and how to mend it."""


class BudgetExceeded(SnhkitError):  # noqa: N818 - the word of the field
    """A release would cost more epsilon than is left; nothing was looked at."""


class ReleaseFileError(InputError):
    """A file that is not a release, or not one that can be trusted to be whole."""
