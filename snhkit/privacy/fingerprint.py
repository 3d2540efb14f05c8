"""Keyed hashes, by which a ledger in a file recognises its dataset without revealing records."""

import hashlib
import hmac
import os
from pathlib import Path

from snhkit.errors import InputError
from snhkit.files import write_whole
from snhkit.privacy.count_source import CountSource

__all__ = ["fingerprint", "secret_key"]

_KEY_BYTES = 32
_DEPTH = 12  # counts of 2^12 by 2^12 squares are hashed


def secret_key(path: Path, *, create: bool) -> bytes:
    """Return the secret key in a file; with ``create``, a missing file is created.

    Call this function only while the ledger's file is locked, since two processes must not both
    create the file.

    Parameters
    ----------
    path : Path
        The file, which only its owner can read and write. Keep it with the private records.
    create : bool
        Whether a missing file is created, with a key from the operating system's entropy.

    Returns
    -------
    bytes
        The key.

    Raises
    ------
    InputError
        If the file is missing and ``create`` is false, or if it cannot be read or written or does
        not hold a key.
    """
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


def fingerprint(records: CountSource, key: bytes) -> str:
    """Return a keyed hash (HMAC-SHA-256) of records, whatever their order or file format.

    The region and the number of records in each of its 4,096 by 4,096 squares are hashed. Without
    the key, the hash reveals nothing about the records, and nobody can test a guess of the records
    against the hash.

    Parameters
    ----------
    records : CountSource
        The private records.
    key : bytes
        The key that ``secret_key`` returns.

    Returns
    -------
    str
        64 hexadecimal digits.
    """
    about = repr(sorted(records.region.to_dict().items())).encode()
    code = hmac.new(key, about, hashlib.sha256)
    for numbers in records.squares(_DEPTH):
        code.update(numbers.astype("<i8").tobytes())
    return code.hexdigest()
