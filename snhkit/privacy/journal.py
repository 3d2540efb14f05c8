"""An append-only, checksummed file of events that several processes can share."""

import contextlib
import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from snhkit.errors import InputError

__all__ = ["Journal"]

_START = "0" * 64
_MAX_BYTES = 64 * 2**20


class Journal:
    """An append-only file of JSON events, each checksummed together with all events before it.

    An event is on the disk before ``append`` returns. A process that is killed while it writes
    leaves at most an incomplete last line, which the next process removes; that event was never
    reported as written. The file lock is the operating system's, which releases it when a process
    ends.

    Parameters
    ----------
    path : str or Path
        The file. A missing file is created, readable and writable by its owner only.

    Raises
    ------
    InputError
        If the file cannot be read or written, or a line does not carry the right checksum.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     journal = Journal(Path(folder) / "trips.ledger")
    ...     with journal.locked():
    ...         journal.append({"event": "opened"})
    ...     with Journal(journal.path).locked() as events:
    ...         print(events)
    [{'event': 'opened'}]
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._read = 0
        self._checksum = _START
        self._descriptor: int | None = None

    @contextlib.contextmanager
    def locked(self) -> Iterator[list[dict[str, Any]]]:
        """Return a context manager that locks the file and yields the events not read before."""
        try:
            import fcntl
        except ImportError:  # Windows has no such lock
            raise InputError(
                f"{self.path}: a ledger in a file needs the file locks of Linux or macOS."
            ) from None
        try:
            # The file is opened again for each lock, because a forked process would share the lock
            # of an inherited descriptor.
            self._descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        except OSError as error:
            raise self._failure(error) from None
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX)
            yield self._new_events()
        finally:
            os.close(self._descriptor)
            self._descriptor = None

    def append(self, event: dict[str, Any]) -> None:
        """Write one event to the disk; only for use inside a with statement of ``locked``."""
        if self._descriptor is None:
            raise RuntimeError("append must be called inside a with statement of locked()")
        text = json.dumps(event)
        checksum = _next(self._checksum, text)
        line = f"{checksum} {text}\n".encode()
        before = os.fstat(self._descriptor).st_size
        try:
            written = os.write(self._descriptor, line)
            if written < len(line):
                raise OSError(28, "no space left on the device")
            os.fsync(self._descriptor)
            if not before:
                _sync_folder(self.path.parent)
        except OSError as error:
            with contextlib.suppress(OSError):
                os.ftruncate(self._descriptor, before)
            raise self._failure(error) from None
        self._read, self._checksum = before + len(line), checksum

    def _new_events(self) -> list[dict[str, Any]]:
        """Return the events of the lines that were added since the last read.

        Each line's checksum is verified, and an incomplete last line is removed.
        """
        assert self._descriptor is not None  # noqa: S101
        size = os.fstat(self._descriptor).st_size
        if size < self._read:
            raise InputError(f"{self.path}: the file became shorter; restore it from a copy.")
        if size > _MAX_BYTES:
            raise InputError(
                f"{self.path}: a ledger must have at most {_MAX_BYTES:,} bytes, not {size:,}."
            )
        data = os.pread(self._descriptor, size - self._read, self._read)
        complete = data.rfind(b"\n") + 1
        if complete < len(data):
            os.ftruncate(self._descriptor, self._read + complete)
            os.fsync(self._descriptor)
        return [self._checked(line) for line in data[:complete].splitlines()]

    def _checked(self, line: bytes) -> dict[str, Any]:
        """Return the event of a line, after a check of the line's checksum."""
        try:
            checksum, _, text = line.decode().partition(" ")
            event = json.loads(text)
        except ValueError:
            checksum, text, event = "", "", None
        if not isinstance(event, dict) or checksum != _next(self._checksum, text):
            raise InputError(
                f"{self.path}: the ledger was changed or damaged after {self._read:,} bytes; "
                "restore it from a copy. Nothing was spent."
            )
        self._read, self._checksum = self._read + len(line) + 1, checksum
        return event

    def _failure(self, error: OSError) -> InputError:
        return InputError(f"{self.path}: the ledger cannot be written ({error.strerror}).")


def _next(checksum: str, text: str) -> str:
    """Return the checksum of an event's text, given the checksum of the event before it."""
    return hashlib.sha256(f"{checksum} {text}".encode()).hexdigest()


def _sync_folder(folder: Path) -> None:
    """Flush a folder to the disk, so that a file created in it survives a crash."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
