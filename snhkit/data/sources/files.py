"""Which files a path, folder, pattern, address or list means; each file counts once."""

import contextlib
import glob
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from snhkit.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.fs as pafs

__all__ = ["KINDS", "Place", "find_files", "is_large"]

TEXT = (".csv", ".tsv", ".txt")
KINDS = (".parquet", *TEXT, ".npy", ".geojson", ".gpkg")
"""The suffixes of the files that are read."""

PACKED = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2"}
"""The suffixes of packed text, after those of text, and Arrow's names of the codecs."""

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
        return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")

    @property
    def kind(self) -> str:
        """The suffix of the file name, such as ".csv" for trips.csv and trips.csv.gz."""
        return _kind(self.path)

    def open(self) -> "pa.NativeFile":
        """Return the file, opened for reading."""
        import pyarrow as pa

        if self.system:
            return _system(self.system)[0].open_input_file(self.path)
        try:
            self.path.encode()
        except UnicodeEncodeError:  # a name that is not in UTF-8, which Arrow cannot open
            return pa.PythonFile(open(os.fsencode(self.path), "rb"), mode="r")
        return pa.OSFile(self.path, "rb")

    def is_empty(self) -> bool:
        """Return whether the file has no bytes, or none after unpacking."""
        import pyarrow as pa

        packed = next((PACKED[end] for end in PACKED if self.path.lower().endswith(end)), None)
        if packed is None or not 0 < self.size < _EMPTY_PACKED:
            return not self.size
        with contextlib.suppress(OSError, ValueError):
            return not pa.CompressedInputStream(self.open(), packed).read(1)
        return False

    def refuse_changed(self) -> None:
        """Raise InputError if the file no longer has this size or time of last change."""
        try:
            now = _remote(self.system, self.path) if self.system else _local(self.path)
        except OSError:
            now = None
        if now is None or (now.size, now.changed_ns) != (self.size, self.changed_ns):
            raise InputError(f"{self.name}: {_CHANGED}")


def is_large(path: str | os.PathLike[str]) -> bool:
    """Return whether a source is a folder or a file of at least 256 MB, too large for memory."""
    there = Path(path).expanduser()
    return there.is_dir() or (there.is_file() and there.stat().st_size >= _LARGE)


def find_files(
    source: "str | os.PathLike[str] | Sequence[Any]",
) -> tuple[str, list[Place], tuple[str, ...]]:
    """Return the name of a source, its files, and a note on files that are not read, if any.

    In folders, names that begin with "." or "_" are left out, as Hive and Spark do; links are
    followed. "*" in a pattern does not match "/", and "**" does. A file counts once, however often
    and by whatever names it is found. The files are in the order of ``source`` and of their paths.
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
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace"), files, note


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
    return next((path[: -len(end)] for end in PACKED if lower.endswith(end)), path)


def _kind(path: str) -> str:
    bare = _unpacked(path)
    kind = os.path.splitext(bare.lower())[1]
    return kind if bare == path or kind in TEXT else ""


_Found = tuple[list[tuple[object, Place]], list[str]]  # files by identity, and names of others


def _found(address: str) -> _Found:
    try:
        found, others, alone = _found_there(address) if "://" in address else _found_here(address)
    except (OSError, ValueError) as failure:
        if isinstance(failure, InputError):
            raise
        raise InputError(f"{_shown(address)} cannot be read: {failure}.") from None
    kinds = f"{', '.join(KINDS)}, or in {', '.join(TEXT)} and {', '.join(PACKED)}"
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


def _shown(address: str) -> str:
    return repr(address[:200].encode("utf-8", "surrogateescape").decode("utf-8", "replace"))


def _found_here(address: str) -> tuple[list[tuple[object, Place]], list[str], bool]:
    path = os.path.abspath(os.path.expanduser(address))
    if os.path.isdir(path):
        return *_sorted(_walked(path)), False
    if os.path.lexists(path) or not glob.has_magic(path):
        if os.path.exists(path) and not os.path.isfile(path):
            raise InputError(f"{_shown(address)} is not a file.")
        return ([(_identity(path), _local(path))] if os.path.isfile(path) else []), [], True
    under = os.path.basename(path).startswith("_")
    matched = [one for one in glob.glob(path, recursive=True) if not os.path.isdir(one)]
    return *_sorted([m for m in matched if under or "/_" not in m[len(_fixed(path)) :]]), False


def _fixed(pattern: str) -> str:
    """Return the folder in which the matches of a pattern lie."""
    while glob.has_magic(pattern):
        pattern = os.path.dirname(pattern)
    return pattern


def _sorted(paths: list[str]) -> tuple[list[tuple[object, Place]], list[str]]:
    read = [path for path in sorted(paths) if _kind(path) in KINDS and os.path.isfile(path)]
    others = [Place(path, 0, 0).name for path in set(paths).difference(read)]
    return [(_identity(path), _local(path)) for path in read], others


def _walked(folder: str) -> list[str]:
    """Return all paths in a folder and its subfolders but those of folders, each folder once."""
    seen, found, left = {_identity(folder)}, [], [folder]
    while left:
        with os.scandir(left.pop()) as entries:
            for entry in entries:
                if entry.name.startswith((".", "_")):
                    continue
                if not entry.is_dir():
                    found.append(entry.path)
                elif (known := _identity(entry.path)) not in seen:
                    seen.add(known)
                    left.append(entry.path)
    return found


def _identity(path: str) -> tuple[int, int]:
    there = os.stat(path)
    return there.st_dev, there.st_ino


def _local(path: str) -> Place:
    there = os.stat(path)
    return Place(path, there.st_size, there.st_mtime_ns)


def _found_there(address: str) -> tuple[list[tuple[object, Place]], list[str], bool]:
    import pyarrow.fs as pafs

    system, path = _system(address)
    if isinstance(system, pafs.LocalFileSystem):
        return _found_here(path)
    info = system.get_file_info(path)
    if info.type == pafs.FileType.File:
        return [(_identity_there(address, path), _placed(address, info))], [], True
    base, pattern = path, None
    if info.type == pafs.FileType.NotFound and glob.has_magic(path):
        pattern = re.compile(_translated(path))
        base = _fixed(path)
        info = system.get_file_info(base)
    if info.type != pafs.FileType.Directory:
        return [], [], pattern is None
    infos = [
        one
        for one in system.get_file_info(pafs.FileSelector(base, recursive=True))
        if one.type == pafs.FileType.File
        and not any(name.startswith((".", "_")) for name in one.path[len(base) :].split("/"))
        and (pattern is None or pattern.match(one.path))
    ]
    read = sorted((one for one in infos if _kind(one.path) in KINDS), key=lambda one: one.path)
    others = [one.base_name for one in infos if _kind(one.path) not in KINDS]
    found: list[tuple[object, Place]] = [
        (_identity_there(address, one.path), _placed(address, one)) for one in read
    ]
    return found, others, False


def _identity_there(address: str, path: str) -> tuple[str, str, str]:
    """Return the system and the path of a file; most paths contain the host or bucket."""
    system, _, rest = address.partition("://")
    host = rest.partition("/")[0]
    return system, "" if path.lstrip("/").startswith(host) else host, path.lstrip("/")


def _translated(pattern: str) -> str:
    """Return a pattern of paths as a regular expression (Python 3.13 has ``glob.translate``)."""
    signs = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    parts = re.split(r"(\*\*/|\*\*|\*|\?|\[[^]]+\])", pattern)
    return "".join(
        signs.get(part) or (part if part.startswith("[") else re.escape(part)) for part in parts
    ) + r"\Z"  # fmt: skip


def _placed(address: str, info: Any) -> Place:
    return Place(info.path, int(info.size or 0), int(info.mtime_ns or 0), address)


def _remote(address: str, path: str) -> Place:
    return _placed(address, _system(address)[0].get_file_info(path))


@lru_cache(maxsize=32)
def _system(address: str) -> "tuple[pafs.FileSystem, str]":
    import pyarrow as pa
    import pyarrow.fs as pafs

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
