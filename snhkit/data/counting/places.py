"""Files on disks and in object stores, found by path, folder, pattern or address."""

import fnmatch
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from snhkit.errors import InputError

if TYPE_CHECKING:
    import pyarrow.fs as pafs

__all__ = ["Place", "find_places"]

KINDS = (".parquet", ".csv", ".tsv", ".txt")
"""The suffixes of the files that ``scan`` reads; text may also have the suffix .gz after these."""


@dataclass(frozen=True)
class Place:
    """A file, with its size and the time of its last change when it was found.

    Parameters
    ----------
    filesystem : pyarrow.fs.FileSystem
        The file system that holds the file.
    path : str
        The path of the file in that file system.
    size : int
        The size of the file in bytes.
    changed_ns : int
        The time of the last change, in nanoseconds since 1970; 0 if unknown.
    """

    filesystem: "pafs.FileSystem"
    path: str
    size: int
    changed_ns: int

    @property
    def name(self) -> str:
        """The name of the file, without its folders."""
        return self.path.rsplit("/", 1)[-1]

    @property
    def kind(self) -> str:
        """The suffix of the file name, such as ".csv" for trips.csv and trips.csv.gz."""
        return Path(self.name.lower().removesuffix(".gz")).suffix

    def refuse_changed(self) -> None:
        """Raise InputError if the file no longer has this size or time of last change."""
        now = _place(self.filesystem.get_file_info(self.path), self.filesystem)
        if now is None or (now.size, now.changed_ns) != (self.size, self.changed_ns):
            raise InputError(
                f"{self.name}: the file changed after it was opened, and a budget is valid for "
                "unchanged records only. Restore the file, or open the changed file with a new "
                "ledger. For people who are in both files, the epsilons of both ledgers add up."
            )


def find_places(source: "str | os.PathLike[str] | Sequence[Any]") -> tuple[str, list[Place]]:
    """Find the files at one or several paths, folders, patterns or addresses.

    Parameters
    ----------
    source : str, path or sequence of these
        A file, a folder with all its subfolders, a pattern such as ``trips/*.parquet``, or an
        address that pyarrow or fsspec knows, such as ``s3://bucket/trips``.

    Returns
    -------
    name : str
        The name of the source, for messages.
    places : list of Place
        The files, in the order of ``source``; those in one folder are ordered by path.

    Raises
    ------
    InputError
        If no file is found, or files are of several kinds, such as .csv and .parquet.
    """
    given = [source] if isinstance(source, (str, os.PathLike)) else list(source)
    if not given:
        raise InputError("scan: the list of files is empty; give at least one path.")
    places = [place for one in given for place in _found(str(one))]
    kinds = {place.kind for place in places}
    if len(kinds) > 1:
        raise InputError(
            "scan: all files must be of one kind, but these are "
            f"{' and '.join(sorted(kinds))}; convert them to one kind."
        )
    first = str(given[0]).rstrip("/").rsplit("/", 1)[-1]
    return first if len(given) == 1 else f"{first} and {len(given) - 1} more", places


def _found(address: str) -> list[Place]:
    import pyarrow.fs as pafs

    filesystem, path = _filesystem(address)
    pattern = None
    if any(sign in path for sign in "*?["):
        whole = path
        while any(sign in path for sign in "*?["):
            path = path.rpartition("/")[0]
        pattern = whole
    try:
        info = filesystem.get_file_info(path)
        infos = [info]
        if info.type == pafs.FileType.Directory:
            infos = filesystem.get_file_info(pafs.FileSelector(path, recursive=True))
    except OSError as failure:
        raise InputError(f"{address[:200]!r} cannot be read: {failure}.") from None
    found = [place for one in infos if (place := _place(one, filesystem)) is not None]
    if len(infos) > 1 or info.type == pafs.FileType.Directory:
        inside = len(path.rstrip("/")) + 1
        found = [p for p in found if p.kind in KINDS and not _hidden(p.path[inside:])]
    if pattern is not None:
        found = [place for place in found if fnmatch.fnmatchcase(place.path, pattern)]
    if not found:
        raise InputError(
            f"{address[:200]!r}: no file was found; check the path. In folders, scan reads files "
            f"whose names end in {', '.join(KINDS)}, or in one of these and .gz."
        )
    if found[0].kind not in KINDS:
        raise InputError(
            f"{found[0].name}: scan reads only files whose names end in "
            f"{', '.join(KINDS)}, or in one of these and .gz; read other files with read_points."
        )
    return sorted(found, key=lambda place: place.path)


def _hidden(path: str) -> bool:
    return any(part.startswith((".", "_")) for part in path.split("/"))


def _place(info: Any, filesystem: "pafs.FileSystem") -> Place | None:
    import pyarrow.fs as pafs

    if info.type != pafs.FileType.File:
        return None
    return Place(filesystem, info.path, int(info.size or 0), int(info.mtime_ns or 0))


def _filesystem(address: str) -> "tuple[pafs.FileSystem, str]":
    import pyarrow as pa
    import pyarrow.fs as pafs

    if "://" not in address:
        return pafs.LocalFileSystem(), str(Path(address).expanduser().absolute())
    try:
        return pafs.FileSystem.from_uri(address)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        pass
    except OSError as failure:
        raise InputError(f"{address[:200]!r} cannot be reached: {failure}.") from None
    try:
        import fsspec
    except ImportError:
        raise InputError(
            f"{address[:200]!r}: such addresses need the package fsspec: pip install fsspec."
        ) from None
    try:
        there, path = fsspec.core.url_to_fs(address)
    except (ValueError, ImportError) as failure:
        raise InputError(f"{address[:200]!r} cannot be reached: {failure}.") from None
    return pafs.PyFileSystem(pafs.FSSpecHandler(there)), path
