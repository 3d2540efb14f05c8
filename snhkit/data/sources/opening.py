"""Opening of a source of records: a path, a list of paths, or an object in memory."""

import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from snhkit.data.sources.chunk import Part, Source
from snhkit.data.sources.columns import Rules, refuse_other_columns
from snhkit.data.sources.delimited import text_part
from snhkit.data.sources.files import Place, find_files
from snhkit.data.sources.frames import array_file, object_part
from snhkit.data.sources.layers import layer_part
from snhkit.data.sources.parquet import parquet_parts
from snhkit.errors import InputError
from snhkit.geometry import Points

__all__ = ["open_source"]

_READERS: dict[str, Callable[[Place, Rules], Any]] = {
    ".parquet": parquet_parts,
    ".csv": text_part,
    ".tsv": text_part,
    ".txt": text_part,
    ".npy": array_file,
    ".geojson": layer_part,
    ".gpkg": layer_part,
}


def open_source(source: Any, rules: Rules) -> Source:
    """Open paths or an object as a ``Source`` of rows, and find the columns to read.

    Raises
    ------
    InputError
        If the source cannot be opened, its columns are not found, or files differ in their columns
        or in the types of user ids.
    """
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
        return Source(part.name, [part], rules)
    name, places, notes = find_files(source)
    parts: list[Any] = []
    with warnings.catch_warnings(action="ignore"):
        for place in places:
            opened = _READERS[place.kind](place, rules)
            parts += opened if isinstance(opened, list) else [opened]
    refuse_other_columns([(part.name, part.layout) for part in parts])
    return Source(name, _with_same_people(parts), rules, tuple(places), notes)


def _with_same_people(parts: Sequence[Any]) -> list[Part]:
    """Return the parts, after a check that user ids of several types can be the same people."""
    kinds = {part.ids[0]: part for part in parts if part.ids is not None and part.ids[0]}
    if "bytes" in kinds and len(kinds) > 1:
        told = " and ".join(f"{part.ids[1]} in {part.name}" for part in kinds.values())
        raise InputError(
            f"user ids are {told}; one person may have ids of both. Write the ids of all files "
            "with one type."
        )
    if set(kinds) == {"number", "text"}:
        number = kinds["number"]
        beside = f"{number.name} ({number.ids[1]})"
        parts = [
            replace(part, layout=replace(part.layout, beside=beside))
            if part.ids is not None and part.ids[0] == "text"
            else part
            for part in parts
        ]
    return list(parts)
