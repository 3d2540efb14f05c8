"""Types of command-line options that click does not have."""

from pathlib import Path

import click

from snhkit.cli.output import STANDARD_OUTPUT
from snhkit.defaults import DEFAULT_SIZES_M
from snhkit.errors import InputError
from snhkit.files import refuse_unwritable

SIZES_SHOWN = ",".join(f"{side_m:g}" for side_m in DEFAULT_SIZES_M)
"""The default value of --sizes-m, as a user would type it; the help of commands shows it."""

INPUT_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
"""The type of an option whose value is a file that exists and can be read."""


class OutputFile(click.Path):
    """A file that can be written, or ``-`` for standard output."""

    def __init__(self) -> None:
        super().__init__(dir_okay=False, allow_dash=True, path_type=Path)

    def convert(self, value, param, ctx):
        """Return the path; fail before any work is done if the path cannot be written."""
        path = Path(str(super().convert(value, param, ctx)))
        if path != STANDARD_OUTPUT:
            try:
                refuse_unwritable(path)
            except InputError as error:
                self.fail(str(error), param, ctx)
        return path


class Whole(click.IntRange):
    """A whole number, written with the digits 0 to 9."""

    def convert(self, value, param, ctx):
        """Return the number."""
        from snhkit.checks import is_plain

        if isinstance(value, str) and not is_plain(value):
            self.fail(f"{value!r} is not a number with the digits 0 to 9.", param, ctx)
        return super().convert(value, param, ctx)


class Positive(click.FloatRange):
    """A finite number greater than 0, written with the digits 0 to 9."""

    def __init__(self) -> None:
        super().__init__(0, min_open=True)

    def convert(self, value, param, ctx):
        """Return the number as a float."""
        if isinstance(value, str) and _numbers(value.replace(",", " ")) is None:
            self.fail(f"{value!r} is not a number with the digits 0 to 9.", param, ctx)
        return super().convert(value, param, ctx)


class CellWidth(click.ParamType):
    """A number of metres greater than 0, or the word ``auto``."""

    name = "METRES|auto"

    def convert(self, value, param, ctx):
        """Return the width in metres as a float, or the word ``auto``."""
        if value == "auto":
            return value
        numbers = _numbers(value)
        if numbers is None or len(numbers) != 1 or numbers[0] <= 0:
            self.fail(
                f"{value!r} is not a cell width; give a number of metres greater than 0, or "
                "the word auto.",
                param,
                ctx,
            )
        return numbers[0]


class LatLon(click.ParamType):
    """Two numbers that ``fits`` accepts, separated by a comma: latitude and longitude."""

    name = "LAT,LON"
    wanted = "LAT,LON in degrees, like 37.7637,-122.4337"

    def fits(self, one: float, other: float) -> bool:
        """Return whether the two numbers are possible; the region checks its centre."""
        return True

    def convert(self, value, param, ctx):
        """Return the two finite numbers."""
        if isinstance(value, tuple):
            return value
        numbers = _numbers(value)
        if numbers is None or len(numbers) != 2 or not self.fits(*numbers):
            self.fail(f"{value!r} is not {self.wanted}.", param, ctx)
        return numbers


class Range(LatLon):
    """The smallest and the largest side of a query in metres, separated by a comma."""

    name = "L,U"
    wanted = f"L,U in metres with 0 < L <= U, like {SIZES_SHOWN}"

    def fits(self, one: float, other: float) -> bool:
        """Return whether 0 < L <= U."""
        return 0 < one <= other


class Epsilons(click.ParamType):
    """One or several values of epsilon, separated by commas."""

    name = "E[,E...]"

    def convert(self, value, param, ctx):
        """Return the values as strings; ``exact`` reads "0.1" as exactly one tenth."""
        from snhkit.privacy import exact

        if isinstance(value, tuple):
            return value
        parts = tuple(part.strip() for part in str(value).split(","))
        try:
            if len({exact(part) for part in parts}) < len(parts):
                self.fail(f"{value!r} names an epsilon twice; give each value once.", param, ctx)
        except InputError as error:
            self.fail(str(error), param, ctx)
        return parts


class Delta(click.ParamType):
    """A number greater than 0 and below 1."""

    name = "DELTA"

    def convert(self, value, param, ctx):
        """Return the value as a string, which ``exact_delta`` reads as an exact fraction."""
        from snhkit.privacy.budget import exact_delta

        try:
            if not exact_delta(value):
                self.fail("delta must be greater than 0.", param, ctx)
        except InputError as error:
            self.fail(str(error), param, ctx)
        return value


class Methods(click.ParamType):
    """Short names of methods, separated by commas, or ``all``."""

    name = "A[,B...]"

    def convert(self, value, param, ctx):
        """Return the names without repetition; fail if a method is unknown or not installed."""
        from snhkit.methods import METHODS, method

        if isinstance(value, tuple):
            return value
        if value.strip().lower() == "all":
            quick = {name: method for name, method in METHODS.items() if not method.slow}
            lacking = {name: extra for name, method in quick.items() if (extra := method.lacks)}
            for name, extra in lacking.items():
                click.echo(f"Left out: {name}; {extra.advice} installs it.", err=True)
            return tuple(name for name in quick if name not in lacking)
        names = tuple(dict.fromkeys(name.strip().lower() for name in value.split(",")))
        try:
            for name in names:
                if extra := method(name).lacks:
                    extra.require()
        except InputError as error:
            self.fail(str(error), param, ctx)
        return names


def _numbers(text: str) -> tuple[float, ...] | None:
    from snhkit.checks import typed_number

    try:
        return tuple(map(typed_number, str(text).split(",")))
    except ValueError:
        return None
