"""A file with the finished measurements of a sweep, from which the sweep can be resumed."""

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from snhkit.errors import InputError
from snhkit.files import write_whole

__all__ = ["DoneCells"]

_MAX_BYTES = 2**28


@dataclass(frozen=True)
class DoneCells:
    """The results of the finished measurements of a sweep, in memory and in a file of JSON lines.

    Parameters
    ----------
    path : Path or None
        The file; None keeps the results in memory only. The first line of the file holds the
        settings that all measurements share, and each other line the results of one measurement.
    rows : dict of (str, str) to list of list of float
        The results, by the key of the measurement (``Cell.key`` in a sweep) and ``Place.digest``:
        for each size band, a list of the measured values (those of ``MEASURES`` in a sweep).
    """

    path: Path | None
    rows: dict[tuple[str, str], list[list[float]]]

    @classmethod
    def open(cls, path: str | os.PathLike[str] | None, settings: Mapping) -> "DoneCells":
        """Return the finished measurements in a file; a missing file is created.

        ``settings`` are the settings that all measurements share, with the lists "bands_m" (size
        bands) and "measures" (names of the measured values). An incomplete last line, which an
        interrupted sweep may leave, is removed from the file.

        Raises
        ------
        InputError
            If the file was begun with other settings or is too large, or a line does not hold
            results of a sweep.
        """
        if path is None:
            return cls(None, {})
        target, first = Path(path), json.dumps({"sweep": settings}, sort_keys=True)
        if not target.exists():
            write_whole(target, first + "\n")
            return cls(target, {})
        if target.stat().st_size > _MAX_BYTES:
            raise InputError(
                f"{target.name}: the file is larger than {_MAX_BYTES:,} bytes; name another file."
            )
        data = target.read_bytes()
        whole = data[: data.rfind(b"\n") + 1]
        lines = whole.decode(errors="replace").splitlines()
        if not lines or lines[0] != first:
            there = lines[0][:300] if lines else "nothing"
            raise InputError(
                f"{target.name}: the file was begun with other settings; name another file. "
                f"Settings in the file: {there}. Settings now: {first}."
            )
        width = len(settings["bands_m"]), len(settings["measures"])
        rows = dict(_parsed(target.name, i, line, width) for i, line in enumerate(lines[1:], 2))
        if whole != data:
            os.truncate(target, len(whole))
        return cls(target, rows)

    def add(self, key: str, digest: str, rows: list[list[float]]) -> None:
        """Add the results of a measurement, and write them to the file as one line.

        ``rows`` are the results, and ``key`` and ``digest`` are their key in ``self.rows``.
        """
        self.rows[key, digest] = rows
        if self.path is not None:
            line = json.dumps({"cell": json.loads(key), "records": digest, "rows": rows})
            with self.path.open("ab", buffering=0) as stream:
                stream.write(line.encode() + b"\n")


def _parsed(
    source: str, number: int, line: str, width: tuple[int, int]
) -> tuple[tuple[str, str], list[list[float]]]:
    try:
        told = json.loads(line)
        key, digest = json.dumps(told["cell"]), str(told["records"])
        rows = [[float(value) for value in row] for row in told["rows"]]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise InputError(
            f"{source}: line {number} does not hold results of a sweep; name another file."
        ) from None
    if (len(rows), *{len(row) for row in rows}) != width or not all(
        math.isfinite(value) for row in rows for value in row
    ):
        raise InputError(
            f"{source}: line {number} must hold {width[0]} lists of {width[1]} finite numbers; "
            "name another file."
        )
    # Whole numbers, such as sizes in bytes, are read as they were written.
    return (key, digest), json.loads(line)["rows"]
