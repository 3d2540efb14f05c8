"""Keyed hashes, by which a ledger in a file recognises its dataset without revealing records."""

import hashlib
import hmac
import os
from collections.abc import Iterable
from pathlib import Path

from snhkit.errors import InputError
from snhkit.files import write_whole
from snhkit.privacy.count_source import CountSource

_KEY_BYTES = 32
_DEPTH = 12  # counts of 2^12 by 2^12 squares are hashed


def secret_key(path: Path, *, create: bool) -> bytes:
    """Return the key in a file; with ``create``, made if missing while the ledger is locked."""
    if create and not path.exists():
        write_whole(path, os.urandom(_KEY_BYTES), mode=0o600)
    try:
        if path.exists() and not path.is_file():
            raise InputError(f"{path}: the key of a ledger must be a file, and this is not one.")
        with path.open("rb") as stream:
            key = stream.read(_KEY_BYTES + 1)
    except OSError as error:
        raise InputError(
            f"{path}: the key of the ledger cannot be read ({error.strerror}). The key is a file "
            "beside the ledger; copy both files together."
        ) from None
    if len(key) != _KEY_BYTES:
        raise InputError(
            f"{path}: the key of a ledger has {_KEY_BYTES} bytes, and this file has "
            f"{'more' if len(key) > _KEY_BYTES else len(key)}; restore the file from a copy."
        )
    return key


def key_path(ledger: Path) -> Path:
    """Return the path of the key of a ledger."""
    return ledger.with_name(ledger.name + ".key")


def fingerprint(records: CountSource, key: bytes) -> str:
    """Return the fingerprint of records with one key; see ``fingerprints``."""
    return fingerprints(records, [key])[0]


def fingerprints(records: CountSource, keys: Iterable[bytes]) -> list[str]:
    """Return the HMAC-SHA-256 of the region and its 4,096 by 4,096 counts, with each of some keys.

    It does not depend on the order of records. Without the key, nobody can test a guess of the
    records against it.
    """
    about = repr(sorted(records.region.to_dict().items())).encode()
    codes = [hmac.new(key, about, hashlib.sha256) for key in keys]
    for numbers in records.squares(_DEPTH):
        data = numbers.astype("<i8").tobytes()
        for code in codes:
            code.update(data)
    return [code.hexdigest() for code in codes]
