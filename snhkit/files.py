"""Writing of files in one step, so that no reader of a file ever sees incomplete content."""

import contextlib
import errno
import os
import stat
import tempfile
import time
from pathlib import Path

from snhkit.errors import InputError

__all__ = ["refuse_unwritable", "write_whole"]

_STREAMS = ("/dev/std", "/dev/fd/", "/proc/")  # names of files that are open already
_TRIES, _SECONDS = 100, 10.0  # attempts to open a pipe without a reader, and their total seconds


def write_whole(path: str | os.PathLike[str], content: bytes | str, mode: int = 0o666) -> Path:
    """Write a file under a temporary name in the same folder, then rename the file in one step.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_whole(Path(folder) / "a.txt", "whole").read_text()
    'whole'
    """
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
    """Raise InputError if ``write_whole`` could not write a file; nothing is written.

    Examples
    --------
    >>> refuse_unwritable("nowhere/a.csv")
    Traceback (most recent call last):
    ...
    snhkit.errors.InputError: nowhere/a.csv: cannot be written (there is no folder 'nowhere').
    """
    path = Path(path)
    try:
        reason = _obstacle(path)
    except OSError as error:
        reason = error.strerror
    if reason is not None:
        raise InputError(f"{path}: cannot be written ({reason}).")


def _sync_folder(folder: Path) -> None:
    """Flush a folder to the disk, so that the name of a new file survives a power failure.

    Windows has no such call.
    """
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
    """Return whether a path is a device, a pipe or an open file such as /dev/stdout.

    Such a file cannot be replaced.
    """
    if str(path.absolute()).startswith(_STREAMS):
        return True
    return path.exists() and not path.is_file() and not path.is_dir()


def _opened(path: Path) -> int:
    """Return a file descriptor for writing into a device or a pipe.

    A pipe can be opened only while a program reads from the pipe, so the function waits for a
    reader.
    """
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
    """Give the file ``written`` the permissions and, if possible, the owner of ``target``.

    If ``target`` does not exist, ``written`` has the permissions ``mode`` of a new file.
    """
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
