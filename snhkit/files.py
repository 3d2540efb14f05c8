"""Files that are written in one step, and files of results from which long work is resumed."""

import contextlib
import errno
import json
import math
import os
import stat
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from snhkit.errors import InputError

_STREAMS = ("/dev/std", "/dev/fd/", "/proc/")  # names of files that are open already
_MAX_BYTES = 2**28  # of a file of results
_TRIES, _SECONDS = 100, 10.0  # attempts to open a pipe without a reader, and their total seconds


def write_whole(path: str | os.PathLike[str], content: bytes | str, mode: int = 0o666) -> Path:
    """Write a file under a temporary name in the same folder, then rename it in one step."""
    path = Path(path)
    data = content.encode() if isinstance(content, str) else content
    refuse_unwritable(path)
    try:
        if _is_stream(path):
            with os.fdopen(_opened(path), "wb") as stream:
                stream.write(data)
        else:
            _replace(Path(os.path.realpath(path)), data, mode)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror}).") from None
    return path


def refuse_unwritable(path: str | os.PathLike[str]) -> None:
    """Raise InputError if ``write_whole`` could not write a file; nothing is written."""
    path = Path(path)
    try:
        reason = _obstacle(path)
    except OSError as error:
        reason = error.strerror
    if reason is not None:
        raise InputError(f"{path}: cannot be written ({reason}).")


def _sync_folder(folder: Path) -> None:
    """Flush a folder to disk, so that a new name survives a power failure; not on Windows."""
    if hasattr(os, "O_DIRECTORY"):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _obstacle(path: Path) -> str | None:
    if _is_stream(path):
        return None
    target = Path(os.path.realpath(path))
    folder = target.parent if path.is_symlink() else path.parent
    if path.is_dir():
        return "it is a folder"
    if target.exists() and not _has_write_permission(target):
        return "the file is read-only"
    if not folder.is_dir():
        return f"there is no folder {str(folder)!r}"
    if not os.access(folder, os.W_OK):
        return f"the folder {str(folder)!r} is read-only"
    return None


def _is_stream(path: Path) -> bool:
    """Return whether a path is a device, a pipe or an open file, which cannot be replaced."""
    if str(path.absolute()).startswith(_STREAMS):
        return True
    return path.exists() and not path.is_file() and not path.is_dir()


def _opened(path: Path) -> int:
    """Return a descriptor for writing into a device, or a pipe once a program reads from it."""
    for _ in range(_TRIES):
        try:
            handle = os.open(path, os.O_WRONLY | os.O_APPEND | getattr(os, "O_NONBLOCK", 0))
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
            time.sleep(_SECONDS / _TRIES)
        else:
            os.set_blocking(handle, True)
            return handle
    raise OSError(errno.ENXIO, "no program reads from the pipe")


def _has_write_permission(target: Path) -> bool:
    # os.access allows the administrator every file, so a permission bit must allow writing too.
    return os.access(target, os.W_OK) and bool(target.stat().st_mode & 0o222)


def _replace(target: Path, data: bytes, mode: int) -> None:
    handle, name = tempfile.mkstemp(prefix=".snhkit-", dir=target.parent)
    written = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        _copy_permissions(target, written, mode)
        written.replace(target)
        _sync_folder(target.parent)
    except BaseException:
        with contextlib.suppress(OSError):
            written.unlink()
        raise


def _copy_permissions(target: Path, written: Path, mode: int) -> None:
    """Give ``written`` the permissions and, if possible, the owner of ``target``, or ``mode``."""
    try:
        old = target.stat()
    except FileNotFoundError:
        umask = os.umask(0)
        os.umask(umask)
        written.chmod(mode & ~umask)
        return
    with contextlib.suppress(OSError, AttributeError):  # only an administrator may change owners
        os.chown(written, old.st_uid, old.st_gid)
    written.chmod(stat.S_IMODE(old.st_mode))


@dataclass(frozen=True)
class ResumeFile:
    """The results of finished measurements, in memory and in a file of JSON lines.

    The first line of the file holds the settings that all measurements share, and each other line
    the results of one measurement. An interrupted program measures only what the file lacks.
    """

    path: Path | None  # None for memory only
    rows: dict[tuple[str, str], list[list[float]]]  # by JSON key and digest of the records

    @classmethod
    def open(cls, path: str | os.PathLike[str] | None, settings: Mapping) -> "ResumeFile":
        """Return the results in a file, which is created if missing; drop half a last line.

        ``settings`` has the lists "bands_m" and "measures", whose lengths are those of the results.
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
        rows = dict(_result(target.name, i, line, width) for i, line in enumerate(lines[1:], 2))
        if whole != data:
            os.truncate(target, len(whole))
        return cls(target, rows)

    def add(self, key: str, digest: str, rows: list[list[float]]) -> None:
        """Add the results of a measurement, and append them to the file in a single write."""
        self.rows[key, digest] = rows
        if self.path is not None:
            line = json.dumps({"cell": json.loads(key), "records": digest, "rows": rows})
            with self.path.open("ab", buffering=0) as stream:
                stream.write(line.encode() + b"\n")


def _result(
    source: str, number: int, line: str, width: tuple[int, int]
) -> tuple[tuple[str, str], list[list[float]]]:
    try:
        told = json.loads(line)
        key, digest = json.dumps(told["cell"]), str(told["records"])
        rows = [[float(value) for value in row] for row in told["rows"]]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise InputError(
            f"{source}: line {number} does not hold results; name another file."
        ) from None
    if (len(rows), *{len(row) for row in rows}) != width or not all(
        math.isfinite(value) for row in rows for value in row
    ):
        raise InputError(
            f"{source}: line {number} must hold {width[0]} lists of {width[1]} finite numbers; "
            "name another file."
        )
    # Whole numbers, such as sizes in bytes, are read as they were written.
    return (key, digest), told["rows"]
