"""What people type on the command line, checked and turned into values."""

import math
import os
from pathlib import Path

import click

from snhkit.errors import InputError

__all__ = [
    "CellWidth",
    "Epsilons",
    "InputFile",
    "LatLon",
    "Methods",
    "OutputFile",
    "Positive",
    "Range",
]


class InputFile(click.ParamType):
    """A file that exists."""

    name = "FILE"

    def convert(self, value, param, ctx):
        """Say so at once, not after other files were read."""
        path = Path(value).expanduser()
        if not path.is_file():
            what = "is not a file" if path.exists() else "does not exist"
            self.fail(f"{str(path)!r} {what}.", param, ctx)
        return path


class OutputFile(click.ParamType):
    """A file that can be written."""

    name = "FILE"

    def convert(self, value, param, ctx):
        """Say so at once, not after minutes of building."""
        path = Path(value).expanduser()
        if path.is_dir():
            self.fail(f"{str(path)!r} is a folder.", param, ctx)
        if not path.parent.is_dir():
            self.fail(f"there is no folder {str(path.parent)!r}.", param, ctx)
        if not os.access(path.parent, os.W_OK):
            self.fail(f"the folder {str(path.parent)!r} cannot be written.", param, ctx)
        return path


class Positive(click.ParamType):
    """One number above 0, with its unit for a name."""

    def __init__(self, unit: str) -> None:
        self.name = unit

    def convert(self, value, param, ctx):
        """A finite one."""
        numbers = _numbers(value)
        if numbers is None or len(numbers) != 1 or numbers[0] <= 0:
            self.fail(f"{value!r} is not a number greater than 0.", param, ctx)
        return numbers[0]


class CellWidth(click.ParamType):
    """A number of metres above 0, or a word for how to choose it."""

    name = "METRES|bought|auto"

    def convert(self, value, param, ctx):
        """What builders take."""
        words = ("bought", "auto")
        return value if value in words else Positive("METRES").convert(value, param, ctx)


class LatLon(click.ParamType):
    """LAT,LON in degrees."""

    name = "LAT,LON"

    def convert(self, value, param, ctx):
        """Two finite numbers."""
        if isinstance(value, tuple):
            return value
        numbers = _numbers(value)
        if numbers is None or len(numbers) != 2:
            self.fail(f"{value!r} is not LAT,LON in degrees, like 37.7637,-122.4337.", param, ctx)
        return numbers


class Range(click.ParamType):
    """L,U in metres."""

    name = "L,U"

    def convert(self, value, param, ctx):
        """Two numbers with 0 < L <= U."""
        if isinstance(value, tuple):
            return value
        numbers = _numbers(value)
        if numbers is None or len(numbers) != 2 or not 0 < numbers[0] <= numbers[1]:
            self.fail(f"{value!r} is not L,U in metres with 0 < L <= U, like 25,100.", param, ctx)
        return numbers


class Epsilons(click.ParamType):
    """E[,E...]."""

    name = "E[,E...]"

    def convert(self, value, param, ctx):
        """Texts that ``exact`` takes: 0.1 is to mean a tenth."""
        from snhkit.privacy import exact

        if isinstance(value, tuple):
            return value
        parts = tuple(part.strip() for part in str(value).split(","))
        try:
            if len({exact(part) for part in parts}) < len(parts):
                self.fail(f"{value!r} names an epsilon twice.", param, ctx)
        except InputError as error:
            self.fail(str(error), param, ctx)
        return parts


class Methods(click.ParamType):
    """A[,B...], or all that can be built here."""

    name = "A[,B...]"

    def convert(self, value, param, ctx):
        """Known short names, each once."""
        from snhkit.experiment.methods import METHODS, method

        if isinstance(value, tuple):
            return value
        if value.strip().lower() == "all":
            quick = {name: method for name, method in METHODS.items() if not method.slow}
            lacking = {name: extra for name, method in quick.items() if (extra := method.lacks)}
            for name, extra in lacking.items():
                click.echo(f"Left out: {name}; {extra.advice} brings it.", err=True)
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
    try:
        numbers = tuple(float(part) for part in str(text).split(","))
    except ValueError:
        return None
    return numbers if all(map(math.isfinite, numbers)) else None
