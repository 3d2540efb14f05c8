"""Which ledger belongs to a file of records, also if the file was moved, linked or copied.

By name it is the ledger beside the file, or beside what a link leads to. The account's data folder
has a list of the ledgers of files that were opened, in which a new ledger's records are looked up
by the fingerprints, so that no second budget begins unseen.
"""

import contextlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from snhkit.errors import InputError
from snhkit.privacy.count_source import CountSource
from snhkit.privacy.events import Opening
from snhkit.privacy.fingerprint import fingerprints, key_path, secret_key
from snhkit.privacy.journal import Journal


@dataclass(frozen=True)
class DataLedger(os.PathLike):
    """The path of the ledger of a file of records, and whether somebody named it."""

    path: Path
    named: bool

    def __fspath__(self) -> str:
        return os.fspath(self.path)


def ledger_of(
    data: str | os.PathLike[str], named: str | os.PathLike[str] | None = None
) -> DataLedger:
    """Return the ledger that is named for a file or folder of records, or else FILE.ledger.

    That is beside the file or what a link leads to; InputError if both exist and differ.
    """
    if named is not None:
        return DataLedger(Path(named), named=True)
    given = Path(data) if Path(data).name else Path(data).resolve()
    beside, there = (path.with_name(path.name + ".ledger") for path in (given, given.resolve()))
    if there.exists() and beside.exists() and not beside.samefile(there):
        raise InputError(
            f"{given} leads to {given.resolve()}, and both have a ledger, {beside} and {there}. "
            "The epsilons of both add up; name one of them as the ledger."
        )
    return DataLedger(there if there.exists() and not beside.exists() else beside, named=False)


def elsewhere(path: Path, records: CountSource) -> Path | None:
    """Return another ledger of the same records that this account has opened, if there is one."""
    keys, told = dict[Path, bytes](), dict[Path, str]()
    for other in _remembered():
        with contextlib.suppress(InputError, OSError, LookupError):  # deleted, or damaged
            if not (path.exists() and other.samefile(path)):
                told[other] = Opening.of(Journal(other).read()[0], other).records
                keys[other] = secret_key(key_path(other), create=False)
    found = zip(keys, fingerprints(records, keys.values()), strict=True) if keys else ()
    return next((other for other, code in found if code == told[other]), None)


def remember(path: Path) -> None:
    """Add a ledger to the list, unless the list has it or cannot be written."""
    path = path.absolute()
    if path not in _remembered() and (_list().is_file() or not os.path.lexists(_list())):
        with contextlib.suppress(OSError):
            _list().parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle = os.open(_list(), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            with os.fdopen(handle, "wb") as stream:
                stream.write(f"{json.dumps(str(path))}\n".encode())


def _remembered() -> Iterator[Path]:
    if not _list().is_file():  # a pipe would never end
        return
    with contextlib.suppress(OSError):
        for line in dict.fromkeys(_list().read_text("utf-8", "replace").splitlines()):
            with contextlib.suppress(ValueError):
                if isinstance(path := json.loads(line), str):
                    yield Path(path)


def _list() -> Path:
    """Return the path of the list; the environment variable ``SNHKIT_LEDGERS`` sets another."""
    found = os.environ.get("SNHKIT_LEDGERS")
    return Path(found or platformdirs.user_data_path("snhkit", appauthor=False) / "ledgers")
