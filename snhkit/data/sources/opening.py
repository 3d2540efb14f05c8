"""Opening of a source of records: a path, a list of paths, or an object in memory."""

import os
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from snhkit.data.sources.chunk import Part
from snhkit.data.sources.columns import Rules, refuse_other_columns, rules_of
from snhkit.data.sources.delimited import text_parts
from snhkit.data.sources.files import Place, find_files
from snhkit.data.sources.frames import array_parts, object_part
from snhkit.data.sources.layers import layer_parts
from snhkit.data.sources.parquet import parquet_parts
from snhkit.errors import InputError
from snhkit.geometry import By, Points

__all__ = ["Source", "open_source", "people_column"]

_PEOPLE = re.compile(
    r"(user|rider|passenger|person|people|customer|client|driver|member|patient|pupil|student|"
    r"employee|subscriber|account|household|device|phone|imei|msisdn|email|cab|taxi|vehicle|owner)s?"
    r"(_?(id|no|nr|number|name|key|hash|code))?|uid|uuid"
)
_UNKNOWN_SIZE = 2**32  # bytes, assumed for a source whose size is unknown
_READERS: dict[str, Callable[[Place, Rules], list[Part]]] = {
    ".parquet": parquet_parts,
    ".csv": text_parts,
    ".tsv": text_parts,
    ".txt": text_parts,
    ".npy": array_parts,
    ".geojson": layer_parts,
    ".gpkg": layer_parts,
}


@dataclass(frozen=True)
class Source:
    """Rows that can be read many times and must not change in between.

    ``places`` are the files, none for an object in memory; ``notes`` tell what was not read.
    ``given`` is what was opened.
    """

    name: str
    parts: Sequence[Part]
    rules: Rules
    places: tuple[Place, ...] = ()
    notes: tuple[str, ...] = ()
    given: Any = field(default=None, repr=False, compare=False)

    def divided(self, by: By) -> "Source":
        """Return the same rows with the strata of each, after a check of the columns."""
        return open_source(self.given, replace(self.rules, by=by))

    @property
    def size(self) -> int:
        """The approximate size in bytes."""
        return sum(place.size for place in self.places) or _UNKNOWN_SIZE

    @property
    def numbering(self) -> str:
        """How rows are numbered, as a phrase for messages."""
        several = ", in each file" if len(self.places) > 1 else ""
        return self.parts[0].numbering + several

    @property
    def swap(self) -> str:
        """What to do if latitudes and longitudes are swapped, as a phrase for messages."""
        return self.parts[0].layout.swap

    @property
    def found_users(self) -> str | None:
        """The name of the column of users, if it was found by its name and nobody asked for it."""
        return None if self.rules.ids_required else self.parts[0].layout.columns.get("user")

    def part_name(self, part: int) -> str | None:
        """Return the name of a part, None if all parts are one file."""
        return self.parts[part].name if len(self.places) > 1 else None

    def refuse_changed(self) -> None:
        """Raise InputError if a file has changed since it was opened."""
        for place in self.places:
            place.refuse_changed()


def open_source(source: Any, rules: Rules) -> Source:
    """Open paths or an object, find the columns to read, and refuse files that differ in them."""
    if isinstance(source, Points):
        raise InputError(
            "these are Points, which are in memory already; pass the result of read_points to "
            "PrivateDataset."
        )
    paths = [source] if isinstance(source, (str, os.PathLike)) else source
    if not isinstance(paths, (list, tuple)) or not all(
        isinstance(one, (str, os.PathLike)) for one in paths
    ):
        part = object_part(source, rules)
        return Source(part.name, [part], rules, given=source)
    name, places, notes = find_files(source)
    with warnings.catch_warnings(action="ignore"):
        parts = [part for place in places for part in _READERS[place.kind](place, rules)]
    refuse_other_columns([(part.name, part.layout) for part in parts])
    return Source(name, _with_same_people(parts), rules, tuple(places), notes, source)


def people_column(source: Any, **columns: Any) -> str | None:
    """Return the column of a source that looks like ids of people; None if none does.

    ``columns`` are arguments of ``read_points``. Names of columns are read, no records.
    """
    for name in open_source(source, rules_of(**columns)).parts[0].layout.names:
        plain = re.sub(r"(?<=[a-z])(?=[A-Z])|[^A-Za-z]+", "_", name).strip("_").lower()
        if _PEOPLE.fullmatch(plain):
            return name
    return None


def _with_same_people(parts: list[Part]) -> list[Part]:
    """Return the parts, after a check that user ids of several types can be the same people."""
    kinds = {part.layout.ids[0]: part for part in parts if part.layout.ids[0]}
    if "bytes" in kinds and len(kinds) > 1:
        told = " and ".join(f"{part.layout.ids[1]} in {part.name}" for part in kinds.values())
        raise InputError(
            f"user ids are {told}; one person may have ids of both. Write the ids of all files "
            "with one type."
        )
    if set(kinds) != {"number", "text"}:
        return parts
    number = kinds["number"]
    beside = f"{number.name} ({number.layout.ids[1]})"
    return [
        replace(part, layout=replace(part.layout, beside=beside))
        if part.layout.ids[0] == "text"
        else part
        for part in parts
    ]
