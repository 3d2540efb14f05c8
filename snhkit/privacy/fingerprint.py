"""Recognising a dataset without saying anything about its records."""

import hashlib
import hmac
import os
from pathlib import Path

import numpy as np

from snhkit.errors import InputError
from snhkit.geometry import Points

__all__ = ["fingerprint", "secret_key"]

_KEY_BYTES = 32


def secret_key(path: Path, *, create: bool) -> bytes:
    """Return the secret key in a file; without one, draw a key and write the file.

    Parameters
    ----------
    path : path
        Readable and writable by its owner only; to be kept with the private records.
    create : bool
        Whether a missing file is created.

    Raises
    ------
    InputError
        If the file is missing and not to be created, or is not a key.
    """
    if create and not path.exists():
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            pass
        except OSError as error:
            raise InputError(f"{path}: cannot be written ({error.strerror}).") from None
        else:
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(os.urandom(_KEY_BYTES))
                stream.flush()
                os.fsync(descriptor)
    try:
        key = path.read_bytes()
    except OSError as error:
        raise InputError(
            f"{path}: the key of the ledger cannot be read ({error.strerror}). It lies beside the "
            "ledger; copy both files together."
        ) from None
    if len(key) != _KEY_BYTES:
        raise InputError(f"{path}: not the key of a ledger, which has {_KEY_BYTES} bytes.")
    return key


def fingerprint(points: Points, key: bytes) -> str:
    """Return a code of records that is the same for the same records in any order.

    A keyed hash: whoever does not hold the key learns nothing from the code, not even by trying
    out records.

    Parameters
    ----------
    points : Points
        Private records; their region, places and users enter.
    key : bytes
        As ``secret_key`` returns it.

    Returns
    -------
    str
        64 hexadecimal digits.
    """
    x, y = points.xy.T
    order = np.lexsort((x, y) if points.user is None else (points.user, x, y))
    code = hmac.new(key, repr(sorted(points.region.to_dict().items())).encode(), hashlib.sha256)
    code.update(np.ascontiguousarray(points.xy[order]).tobytes())
    if points.user is not None:
        code.update(np.ascontiguousarray(points.user[order]).tobytes())
    return code.hexdigest()
