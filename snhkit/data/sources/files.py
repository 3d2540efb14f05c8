"""Which files a path, folder, pattern, address or list means; each file counts once."""

import contextlib
import fnmatch
import glob
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.fs as pafs

from snhkit.errors import InputError

TEXT = (".csv", ".tsv", ".txt")
KINDS = (".parquet", *TEXT, ".npy", ".geojson", ".gpkg")
"""The suffixes of the files that are read."""

_PACKED = (".gz", ".zst", ".bz2")  # the suffixes of packed text, after those of text
_MAGIC = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\x28\xb5\x2f\xfd": "zstd"}
_LARGE = 2**28  # bytes
_EMPTY_PACKED = 512  # bytes, more than any packed file has that holds nothing
_MOST_NAMED = 3  # files that a report names
_CHANGED = (
    "the file changed after it was opened, and a budget is valid for unchanged records only. "
    "Restore the file, or open the changed file with a new ledger. For people who are in both "
    "files, the epsilons of both ledgers add up."
)


@dataclass(frozen=True)
class Place:
    """A file, with its size in bytes and the time of its last change when it was found."""

    path: str
    size: int
    changed_ns: int  # since 1970
    system: str = ""  # an address in its file system, empty for this machine

    @property
    def name(self) -> str:
        """The name of the file, without its folders, as text that can be printed."""
        name = self.path.rsplit("/", 1)[-1]
        return _printable(name)

    @property
    def kind(self) -> str:
        """The suffix of the file name, such as ".csv" for trips.csv and trips.csv.gz."""
        return _kind(self.path)

    def open(self) -> pa.NativeFile:
        """Return the file, opened for reading."""
        if self.system:
            return _system(self.system)[0].open_input_file(self.path)
        try:
            self.path.encode()
        except UnicodeEncodeError:  # a name that is not in UTF-8, which Arrow cannot open
            return pa.PythonFile(open(os.fsencode(self.path), "rb"), mode="r")
        return pa.OSFile(self.path, "rb")

    def unpacked(self) -> tuple[pa.NativeFile, bool]:
        """Return the file, opened for reading its text, and whether this is packed."""
        raw = self.open()
        magic = raw.read(4)
        raw.seek(0)
        codec = next((name for sign, name in _MAGIC.items() if magic.startswith(sign)), None)
        return (raw, False) if codec is None else (pa.CompressedInputStream(raw, codec), True)

    def is_empty(self) -> bool:
        """Return whether the file has no bytes, or none after unpacking."""
        if self.size < _EMPTY_PACKED:
            with contextlib.suppress(OSError, ValueError), self.unpacked()[0] as text:
                return not text.read(1)
        return False

    def refuse_changed(self) -> None:
        """Raise InputError if the file no longer has this size or time of last change."""
        with contextlib.suppress(OSError):
            found = _stat(self.system, self.path)
            if found is not None and found[1] == self:
                return
        raise InputError(f"{self.name}: {_CHANGED}")


def is_large(path: str | os.PathLike[str]) -> bool:
    """Return whether a source is a folder or a file of at least 256 MB, too large for memory."""
    there = Path(path).expanduser()
    return there.is_dir() or (there.is_file() and there.stat().st_size >= _LARGE)


def find_files(
    source: "str | os.PathLike[str] | Sequence[Any]",
) -> tuple[str, list[Place], tuple[str, ...]]:
    """Return the name of a source, its files, and a note on files that are not read, if any.

    A file counts once, by whatever names it is found. Names that begin with "." or "_" are left
    out, as Hive and Spark do; links are followed; "*" in a pattern does not match "/", "**" does.
    """
    given = [source] if isinstance(source, (str, os.PathLike)) else list(source)
    if not given:
        raise InputError("the list of files is empty; give at least one path.")
    places: dict[object, Place] = {}
    others: list[str] = []
    for one in given:
        found, left = _found(os.fspath(one))
        others += left
        for identity, place in found:
            places.setdefault(identity, place)
    files = list(places.values())
    if len(files) > 1:
        empty = [place for place in files if place.is_empty()]
        files = [place for place in files if place not in empty] or files[:1]
        others += [f"{place.name} (empty)" for place in empty]
    _refuse_several_kinds(files)
    first = Path(os.fspath(given[0])).name or str(given[0])
    name = first if len(given) == 1 else f"{first} and {len(given) - 1} more"
    note = ()
    if others:
        others = sorted(set(others))
        more = f" and {len(others) - _MOST_NAMED:,} more" if len(others) > _MOST_NAMED else ""
        read = f"{len(files):,} file{'s' if len(files) > 1 else ''} read"
        note = (f"{read}; {len(others):,} not: {', '.join(others[:_MOST_NAMED])}{more}",)
    return _printable(name), files, note


def _refuse_several_kinds(files: list[Place]) -> None:
    kinds = {place.kind for place in files}
    if len(kinds) > 1:
        one = {kind: next(place.name for place in files if place.kind == kind) for kind in kinds}
        raise InputError(
            "all files must be of one kind, but these are "
            f"{' and '.join(f'{kind} ({name})' for kind, name in sorted(one.items()))}; choose one "
            "kind with a pattern such as 'trips/*.csv'."
        )
    plain: dict[str, str] = {}
    for place in files:
        bare = _unpacked(place.path)
        if (other := plain.setdefault(bare, place.path)) != place.path:
            raise InputError(
                f"{place.name} lies beside {other.rsplit('/', 1)[-1]}, which is the same file "
                "packed or unpacked, so its records would count twice; name or keep one of them."
            )


def _unpacked(path: str) -> str:
    lower = path.lower()
    return next((path[: -len(end)] for end in _PACKED if lower.endswith(end)), path)


def _kind(path: str) -> str:
    bare = _unpacked(path)
    kind = os.path.splitext(bare.lower())[1]
    return kind if bare == path or kind in TEXT else ""


_Found = tuple[list[tuple[object, Place]], list[str]]  # files by identity, and names of others


def _found(address: str) -> _Found:
    try:
        found, others, alone = _matched(address)
    except (OSError, ValueError) as failure:
        if isinstance(failure, InputError):
            raise
        raise InputError(f"{_shown(address)} cannot be read: {failure}.") from None
    kinds = f"{', '.join(KINDS)}, or in {', '.join(TEXT)} and {', '.join(_PACKED)}"
    if not found:
        told = " does not exist" if alone else ": no file was found"
        raise InputError(
            f"{_shown(address)}{told}; check the path. Files are read whose names end in {kinds}."
        )
    if alone and found[0][1].kind not in KINDS:
        raise InputError(
            f"{found[0][1].name}: only files named {kinds} can be read; other layouts are in "
            "docs/howto/layouts.md."
        )
    return found, others


def _printable(name: str) -> str:
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _shown(address: str) -> str:
    return repr(_printable(address[:200]))


def _matched(address: str) -> tuple[list[tuple[object, Place]], list[str], bool]:
    """Return the files, the names of others, and whether the address is that of one file."""
    system, path = "", address
    if "://" in address:
        there, path = _system(address)
        system = "" if isinstance(there, pafs.LocalFileSystem) else address
    if not system:
        path = os.path.abspath(os.path.expanduser(path)).replace(os.sep, "/")
    if (alone := _stat(system, path)) is not None:
        return [alone], [], True
    parts, pattern = ["**"], path
    if not _is_folder(system, path):
        if not system and os.path.exists(path):
            raise InputError(f"{_shown(address)} is not a file.")
        while glob.has_magic(path):
            path = path.rpartition("/")[0]
        if path == pattern or not _is_folder(system, path):
            return [], [], path == pattern
        parts = pattern[len(path) + 1 :].split("/")
    found: list[tuple[object, Place]] = []
    others: list[str] = []
    for one in sorted(set(_walked(system, path, parts, set()))):
        there = _stat(system, one) if _kind(one) in KINDS else None
        if there is None:
            others.append(Place(one, 0, 0).name)
        else:
            found.append(there)
    return found, others, False


def _walked(system: str, folder: str, parts: list[str], seen: set[object]) -> Iterator[str]:
    """Yield paths in a folder that match parts of a pattern; ``seen`` ends loops of links."""
    if (step := (_identity(system, folder), len(parts))) in seen:
        return
    seen.add(step)
    part, rest = parts[0], parts[1:]
    if part == "**" and rest:
        yield from _walked(system, folder, rest, seen)
    for name, is_folder in _listed(system, folder):
        if (name[0] in "._" and part[0] != name[0]) or not fnmatch.fnmatchcase(name, part):
            continue
        if is_folder and (part == "**" or rest):
            yield from _walked(system, f"{folder}/{name}", parts if part == "**" else rest, seen)
        elif not is_folder and not rest:
            yield f"{folder}/{name}"


def _listed(system: str, folder: str) -> list[tuple[str, bool]]:
    """Return the names in a folder, and whether each is a folder."""
    if not system:
        with os.scandir(folder or "/") as entries:
            return [(entry.name, entry.is_dir()) for entry in entries]
    infos = _system(system)[0].get_file_info(pafs.FileSelector(folder))
    return [(one.base_name, one.type == pafs.FileType.Directory) for one in infos]


def _is_folder(system: str, path: str) -> bool:
    if not system:
        return os.path.isdir(path or "/")
    return _system(system)[0].get_file_info(path).type == pafs.FileType.Directory


def _stat(system: str, path: str) -> tuple[object, Place] | None:
    """Return the identity of a file and its place; None if there is no such file."""
    if not system:
        if not os.path.isfile(path):
            return None
        there = os.stat(path)
        return _identity(system, path), Place(path, there.st_size, there.st_mtime_ns)
    info = _system(system)[0].get_file_info(path)
    if info.type != pafs.FileType.File:
        return None
    place = Place(path, int(info.size or 0), int(info.mtime_ns or 0), system)
    return _identity(system, path), place


def _identity(system: str, path: str) -> object:
    """Return what two names of one file or folder share; most paths contain the host or bucket."""
    if not system:
        there = os.stat(path or "/")
        return there.st_dev, there.st_ino
    kind, _, rest = system.partition("://")
    host = rest.partition("/")[0]
    return kind, "" if path.lstrip("/").startswith(host) else host, path.lstrip("/")


@lru_cache(maxsize=32)
def _system(address: str) -> tuple[pafs.FileSystem, str]:
    try:
        return pafs.FileSystem.from_uri(address)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        pass
    except OSError as failure:
        raise InputError(f"{_shown(address)} cannot be reached: {failure}.") from None
    try:
        import fsspec

        there, path = fsspec.core.url_to_fs(address)
    except ImportError as missing:
        raise InputError(
            f"{_shown(address)}: such addresses need a package: pip install {missing.name}."
        ) from None
    except ValueError as failure:
        raise InputError(f"{_shown(address)} cannot be reached: {failure}.") from None
    return pafs.PyFileSystem(pafs.FSSpecHandler(there)), path
