"""Signatures of release files, which show who published a file and that nobody changed it."""

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from snhkit.errors import InputError
from snhkit.files import refuse_unwritable, write_whole

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (
        Ed25519PrivateKey,
        Ed25519PublicKey,
    )

__all__ = ["check_signature", "key_name", "new_key", "sign", "signature_path"]

_MOST_BYTES = 10_000  # limit for a key or a signature, far above their real sizes


def signature_path(path: Path) -> Path:
    """Return the path of a file's signature, which is the file's path with ``.sig`` added."""
    return path.with_name(path.name + ".sig")


def new_key(path: Path) -> Path:
    """Make a new pair of keys for signatures: write the private and the public key to two files.

    Parameters
    ----------
    path : Path
        The file to write the private key to, in PEM format, which only the file's owner can read.
        The file must not exist yet.

    Returns
    -------
    Path
        The file with the public key, in PEM format: ``path`` with ``.pub`` added to the name.

    Raises
    ------
    InputError
        If one of the files exists or cannot be written, or the package ``cryptography`` is not
        installed.
    """
    from_key = _library()
    public = path.with_name(path.name + ".pub")
    for file in (path, public):
        if file.exists():
            raise InputError(
                f"{file}: the file exists already, and a key is never replaced; choose "
                "another name."
            )
        refuse_unwritable(file)
    key = from_key.Ed25519PrivateKey.generate()
    pem, pem_public = _pem(key)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(pem)
    return write_whole(public, pem_public)


def sign(data: bytes, key: Path) -> bytes:
    """Sign the content of a file, and return the Ed25519 signature, 64 bytes.

    Parameters
    ----------
    data : bytes
        The content of a file.
    key : Path
        The file with the private key, as ``new_key`` writes it.

    Raises
    ------
    InputError
        If ``key`` does not hold a private key, or the package ``cryptography`` is not installed.
    """
    return _private(key).sign(data)


def check_signature(data: bytes, signature: Path, key: Path) -> None:
    """Raise InputError unless a signature fits the content of a file and a public key.

    Parameters
    ----------
    data : bytes
        The content of a file.
    signature : Path
        The file with the signature.
    key : Path
        The file with the public key.

    Raises
    ------
    InputError
        If the signature does not fit, a file is missing or holds something else, or the package
        ``cryptography`` is not installed.
    """
    public = _public(key)
    from cryptography.exceptions import InvalidSignature

    try:
        public.verify(_content(signature, "signature"), data)
    except InvalidSignature:
        raise InputError(
            f"{signature}: the signature does not match this file and the key {key}: "
            "the file was changed, or the signature was made with another key."
        ) from None


def key_name(key: Path) -> str:
    """Return the fingerprint of a public key, for people to compare: 32 hex digits of SHA-256."""
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    raw = _public(key).public_bytes(Encoding.Raw, PublicFormat.Raw)
    digits = hashlib.sha256(raw).hexdigest()[:32]
    return "-".join(digits[at : at + 8] for at in range(0, 32, 8))


def _library():
    """Return the Ed25519 module of the package ``cryptography``, an optional dependency."""
    try:
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError:
        raise InputError(
            'signatures need the package cryptography: pip install "snhkit[sign]".'
        ) from None
    return ed25519


def _pem(key: "Ed25519PrivateKey") -> tuple[bytes, bytes]:
    """Return a private key and its public key as PEM."""
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
        PublicFormat,
    )

    return (
        key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
        key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo),
    )


def _private(path: Path) -> "Ed25519PrivateKey":
    """Return the private key in a file; raise InputError if the file holds none."""
    kind = _library().Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        key = load_pem_private_key(_content(path, "private key"), password=None)
    except (ValueError, TypeError):  # not PEM, or protected by a password
        key = None
    if not isinstance(key, kind):
        raise InputError(f"{path}: not a private key that snhkit keygen wrote.")
    return key


def _public(path: Path) -> "Ed25519PublicKey":
    """Return the public key in a file; raise InputError if the file holds none."""
    kind = _library().Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    try:
        key = load_pem_public_key(_content(path, "public key"))
    except ValueError:
        key = None
    if not isinstance(key, kind):
        raise InputError(f"{path}: not a public key (KEY.pub) that snhkit keygen wrote.")
    return key


def _content(path: Path, what: str) -> bytes:
    """Return the bytes of a small file; raise InputError if the file cannot be read."""
    try:
        with path.open("rb") as stream:
            return stream.read(_MOST_BYTES)
    except OSError as error:
        raise InputError(f"{path}: the {what} cannot be read ({error.strerror}).") from None
