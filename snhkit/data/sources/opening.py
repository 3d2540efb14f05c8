"""Opening of a source of records: a path, a list of paths, or an object in memory."""

import os
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from snhkit.data.sources.chunk import Part
from snhkit.data.sources.columnar import layer_parts, parquet_parts
from snhkit.data.sources.columns import Rules, refuse_other_columns, rules_of
from snhkit.data.sources.delimited import text_parts
from snhkit.data.sources.files import TEXT, Place, find_files
from snhkit.data.sources.frames import array_parts, object_part
from snhkit.errors import InputError
from snhkit.geometry import By, Points

_PEOPLE = re.compile(
    r"(user|rider|passenger|person|people|customer|client|driver|member|patient|pupil|student|"
    r"employee|subscriber|account|household|device|phone|imei|msisdn|email|cab|taxi|vehicle|owner)s?"
    r"(_?(id|no|nr|number|name|key|hash|code))?|uid|uuid"
)
_READERS: dict[str, Callable[[Place, Rules], list[Part]]] = {
    **dict.fromkeys(TEXT, text_parts),
    **dict.fromkeys((".geojson", ".gpkg"), layer_parts),
    ".parquet": parquet_parts,
    ".npy": array_parts,
}


@dataclass(frozen=True)
class Source:
    """Rows that can be read many times and must not change in between."""

    name: str
    parts: Sequence[Part]
    rules: Rules
    given: Any = field(repr=False, compare=False)  # what was opened
    places: tuple[Place, ...] = ()  # the files, none for an object in memory
    notes: tuple[str, ...] = ()  # what was not read

    def divided(self, by: By) -> "Source":
        """Return the same rows with the strata of each, after a check of the columns."""
        return open_source(self.given, replace(self.rules, by=by))

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
        return Source(part.name, [part], rules, source)
    name, places, notes = find_files(source)
    with warnings.catch_warnings(action="ignore"):
        parts = [part for place in places for part in _READERS[place.kind](place, rules)]
    refuse_other_columns([(part.name, part.layout) for part in parts])
    return Source(name, _with_same_people(parts), rules, source, tuple(places), notes)


def people_column(source: Any, **columns: Any) -> str | None:
    """Return the column whose name looks like ids of people, or None; no records are read."""
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
    return [replace(part, layout=replace(part.layout, beside=beside)) for part in parts]
