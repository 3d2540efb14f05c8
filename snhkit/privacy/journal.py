"""An append-only, checksummed file of events that several processes can share."""

import contextlib
import hashlib
import json
import os
import re
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import portalocker

from snhkit.errors import InputError
from snhkit.files import write_whole

_START = "0" * 64
_FIRST = re.compile(rb'[0-9a-f]{64} \{"event": "opened"')  # how the first line of a ledger begins
_MAX_BYTES, _MAX_LINE = 64 * 2**20, 2**20
_BINARY = getattr(os, "O_BINARY", 0)  # without it, Windows changes newlines
_TRIES, _PAUSE_S = 5, 0.02  # for a line that another process is writing


class Journal:
    """An append-only file of JSON events, each checksummed together with all events before it.

    An event is on the disk before ``append`` returns. Reading changes nothing; adding locks
    FILE.lock. A torn last line may have been complete, so nothing is ever removed: ``tail`` holds
    its bytes, and the next ``append`` moves them to a file beside the journal.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.tail, self.line = b"", 0
        self._read, self._checksum = 0, _START
        self._locked = False

    def read(self) -> list[dict[str, Any]]:
        """Return the events that were not read before; a missing file has none."""
        data = self._bytes(self._read)
        for _ in range(0 if self._locked else _TRIES):
            if not data or data.endswith(b"\n"):
                break
            time.sleep(_PAUSE_S)
            data = self._bytes(self._read)
        if data is None:
            if self._read:
                raise InputError(f"{self.path}: the file was deleted; restore it from a copy.")
            return []
        if not self._read:
            self._identify(data)
        *lines, self.tail = data.split(b"\n")
        return [self._checked(line) for line in lines]

    def last(self) -> dict[str, Any] | None:
        """Return the event of ``tail`` if only its final newline is lost, otherwise None."""
        return self._event(self.tail) or self._event(self.tail[:-1])

    @contextlib.contextmanager
    def locked(self) -> Iterator[list[dict[str, Any]]]:
        """Return a context manager that locks the file and yields the events not read before."""
        self._refuse_other_files(links=1)
        if not self._read and (data := self._bytes(0)) is not None:
            self._identify(data)  # before anything is written beside a file of another kind
        # All names of the file must have one lock. The lock's file is opened again each time,
        # because a forked process would share the lock of an inherited descriptor.
        real = os.path.realpath(self.path)
        try:
            lock = os.open(f"{real}.lock", os.O_RDWR | os.O_CREAT | _BINARY, 0o600)
        except OSError as error:
            raise self._failure(error) from None
        try:
            self._wait_for(lock)
            self._locked = True
            yield self.read()
        finally:
            self._locked = False
            os.close(lock)

    def append(self, *events: dict[str, Any]) -> None:
        """Write events to the disk, inside ``locked`` only; a torn line is moved aside first."""
        if not self._locked:
            raise RuntimeError("append must be called inside a with statement of locked()")
        checksum, data = self._checksum, b""
        for event in events:
            text = json.dumps(event)
            checksum = _next(checksum, text)
            data += f"{checksum} {text}\n".encode()
        if self._read and not self.tail:
            self._add(data)
        else:
            self._replace(data)
        self._read, self._checksum = self._read + len(data), checksum
        self.line += len(events)

    def aside(self) -> Path:
        """Return the path of the file to which ``append`` moves an incomplete last line."""
        names = (self.path.with_name(f"{self.path.name}.torn{k or ''}") for k in range(1000))
        return next(name for name in names if not os.path.lexists(name))

    def _bytes(self, start: int) -> bytes | None:
        """Return the content of the file from byte ``start``, or None if there is no file."""
        if not os.path.lexists(self.path):
            return None
        self._refuse_other_files()
        try:
            with self.path.open("rb") as stream:
                size = os.fstat(stream.fileno()).st_size
                if size < self._read:
                    raise InputError(
                        f"{self.path}: the file became shorter; restore it from a copy."
                    )
                if size > _MAX_BYTES:
                    raise InputError(
                        f"{self.path}: a ledger must have at most {_MAX_BYTES:,} bytes, not "
                        f"{size:,}."
                    )
                stream.seek(start)
                return stream.read(_MAX_BYTES)
        except OSError as error:
            raise InputError(
                f"{self.path}: the ledger cannot be read ({error.strerror})."
            ) from None

    def _refuse_other_files(self, links: int | None = None) -> None:
        """Raise InputError if the path is not that of a file, or the file has more links."""
        try:
            found = self.path.stat()
        except FileNotFoundError:
            if self.path.is_symlink():
                raise InputError(
                    f"{self.path}: the link points to a file that does not exist; restore the "
                    "file, or remove the link."
                ) from None
            return
        except OSError as error:
            raise InputError(
                f"{self.path}: the ledger cannot be read ({error.strerror})."
            ) from None
        if not stat.S_ISREG(found.st_mode):
            kind = "a folder" if stat.S_ISDIR(found.st_mode) else "a pipe or a device"
            raise InputError(f"{self.path}: a ledger must be a file, and this is {kind}.")
        if links and found.st_nlink > links:
            raise InputError(
                f"{self.path}: the ledger has a second name (a hard link), whose charges would not "
                "be seen here. Delete that name, or make it a symbolic link."
            )

    def _identify(self, data: bytes) -> None:
        """Raise InputError unless the first line is that of a ledger."""
        if not data:
            raise InputError(
                f"{self.path}: the file is empty, and so is not a ledger. If a ledger was here, "
                "restore it from a copy; otherwise delete the file."
            )
        if not _FIRST.match(data):
            raise InputError(
                f"{self.path}: this is not a ledger, or its first line was changed or damaged. "
                "By default, the ledger of --data FILE is FILE.ledger."
            )
        if b"\n" not in data:
            raise InputError(
                f"{self.path}: the first line of the ledger is incomplete, so its budget cannot be "
                "read; restore the file from a copy."
            )

    def _checked(self, line: bytes) -> dict[str, Any]:
        """Return the event of a line, after a check of the line's checksum."""
        event = self._event(line)
        if event is None:
            raise InputError(
                f"{self.path}: line {self.line + 1} of the ledger was changed or damaged; restore "
                "the file from a copy. Nothing was spent."
            )
        self._read, self.line = self._read + len(line) + 1, self.line + 1
        self._checksum = line[:64].decode()
        return event

    def _event(self, line: bytes) -> dict[str, Any] | None:
        """Return the event of a line, or None if the line is not the next one of the journal."""
        try:
            checksum, _, text = line.decode().partition(" ")
            right = len(line) <= _MAX_LINE and checksum == _next(self._checksum, text)
            event = json.loads(text) if right else None
        except (ValueError, RecursionError):
            return None
        return event if isinstance(event, dict) else None

    def _wait_for(self, lock: int) -> None:
        """Lock a file that is open, after all other processes and threads have unlocked it."""
        while True:
            try:
                return portalocker.lock(lock, portalocker.LOCK_EX)
            except portalocker.AlreadyLocked:  # Windows waits for ten seconds only
                continue
            except portalocker.LockException as error:
                raise InputError(
                    f"{self.path}: the ledger cannot be locked ({error}); keep it on a disk of "
                    "this computer."
                ) from None

    def _add(self, data: bytes) -> None:
        """Write data at the end of the file, or leave the file as it was."""
        try:
            handle = os.open(self.path, os.O_WRONLY | os.O_APPEND | _BINARY)
        except OSError as error:
            raise self._failure(error) from None
        before = self._read
        try:
            if os.write(handle, data) < len(data):
                raise OSError(28, "no space left on the device")
            os.fsync(handle)
        except OSError as error:
            with contextlib.suppress(OSError):
                os.ftruncate(handle, before)
            raise self._failure(error) from None
        finally:
            os.close(handle)

    def _replace(self, data: bytes) -> None:
        """Write the complete lines and data to a new file, and move it into place in one step."""
        found = self._bytes(0) or b""
        if self.tail:
            write_whole(self.aside(), found[self._read :], mode=0o600)
        write_whole(self.path, found[: self._read] + data, mode=0o600)
        self.tail = b""

    def _failure(self, error: OSError) -> InputError:
        return InputError(f"{self.path}: the ledger cannot be written ({error.strerror}).")


def _next(checksum: str, text: str) -> str:
    """Return the checksum of an event's text, given the checksum of the event before it."""
    return hashlib.sha256(f"{checksum} {text}".encode()).hexdigest()
