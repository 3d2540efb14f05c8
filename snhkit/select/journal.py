"""A CSV file of measured errors, from which an interrupted ``ParamSelect.fit`` can resume."""

import csv
import io
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from snhkit.errors import InputError
from snhkit.files import write_whole
from snhkit.select.labels import MAX_ROWS, number, rows_of, text_of

__all__ = ["Experiment", "Journal"]


class Experiment(NamedTuple):
    """One release of a public data set whose error ``ParamSelect.fit`` measures.

    All fields are text, as in the columns of the journal's file.

    Parameters
    ----------
    dataset, points, n : str
        The name of the public data set, a digest of its points, and their number.
    epsilon : str
        Epsilon per record.
    value : str
        The value of the parameter that ``fit`` varies.
    repeat : str
        The number of the repetition, counted from 0.
    """

    dataset: str
    points: str
    n: str
    epsilon: str
    value: str
    repeat: str


_HEADER = [*Experiment._fields, "error"]


@dataclass(frozen=True)
class Journal:
    """The measured errors of experiments, in memory and, if a path is given, in a file.

    Parameters
    ----------
    path : Path or None
        The path of a CSV file whose first line holds the settings; None for memory only.
    errors : dict
        The errors measured so far, by experiment.
    """

    path: Path | None
    errors: dict[Experiment, float]

    @classmethod
    def open(cls, path: str | os.PathLike[str] | None, settings: str) -> "Journal":
        """Return the journal that a file holds; create the file if it does not exist.

        Parameters
        ----------
        path : str, path or None
            The CSV file. With None, the journal is kept in memory only.
        settings : str
            The settings that all experiments share, as one line.

        Raises
        ------
        InputError
            If the file is not a journal, or was begun with other settings, which the message shows.
        """
        if path is None:
            return cls(None, {})
        target, first = Path(path), f"# {settings}\n"
        if not target.exists():
            write_whole(target, first + ",".join(_HEADER) + "\n")
            return cls(target, {})
        text = text_of(target)
        found, _, table = text.partition("\n")
        if not found.startswith("# "):
            raise InputError(
                f"{target.name}: the file was not written by ParamSelect.fit; name another file."
            )
        if found + "\n" != first:
            raise InputError(
                f"{target.name}: the file was begun with other settings; name another file. "
                f"In the file: {found[2:600]!r}. Now: {settings!r}."
            )
        whole = table[: table.rfind("\n") + 1]
        header, rows = rows_of(target.name, whole, first=2)
        if header != _HEADER:
            raise InputError(
                f"{target.name}: its columns must be {', '.join(_HEADER)}; name another file."
            )
        errors = {
            Experiment(*row[:-1]): number(target.name, line, "error", row[-1], least=0)
            for line, row in enumerate(rows, start=3)
        }
        if whole != table:  # an interruption left an incomplete last line
            os.truncate(target, len((first + whole).encode()))
        return cls(target, errors)

    def refuse_others(self, points: Mapping[str, str]) -> None:
        """Raise InputError if the points of a data set differ from those of the file.

        ``points`` holds the digest of the points of each data set, by name.
        """
        for known in self.errors:
            if self.path and points.get(known.dataset, known.points) != known.points:
                raise InputError(
                    f"{self.path.name}: the data set {known.dataset!r} had other points when the "
                    "file was written; name another file."
                )

    def missing(self, wanted: Iterable[Experiment]) -> list[Experiment]:
        """Return the experiments among ``wanted`` that have not been measured yet.

        Raises
        ------
        InputError
            If the file would hold more than 100,000 experiments.
        """
        found = [experiment for experiment in wanted if experiment not in self.errors]
        if len(self.errors) + len(found) > MAX_ROWS:
            raise InputError(
                f"fit: there would be {len(self.errors) + len(found):,} experiments, more than "
                f"{MAX_ROWS:,}; give fewer datasets, epsilons, values of grid or repeats."
            )
        return found

    def add(self, experiment: Experiment, error: float) -> None:
        """Add the error of an experiment, and append it to the file in a single write."""
        self.errors[experiment] = error
        if self.path is not None:
            line = io.StringIO()
            csv.writer(line, lineterminator="\n").writerow([*experiment, repr(error)])
            with self.path.open("ab", buffering=0) as stream:
                stream.write(line.getvalue().encode())
