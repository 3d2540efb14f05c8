"""Keys, signatures, and what does not fit."""

import shutil
import stat
import subprocess

import pytest

from snhkit.errors import InputError
from snhkit.release.signature import check_signature, key_name, new_key, sign, signature_path

DATA = b"a release"


@pytest.fixture
def key(tmp_path):
    new_key(tmp_path / "owner.key")
    return tmp_path / "owner.key"


@pytest.fixture
def public(key):
    return key.with_name("owner.key.pub")


@pytest.fixture
def signature(key, tmp_path):
    path = signature_path(tmp_path / "a.snh")
    path.write_bytes(sign(DATA, key))
    return path


def test_a_signature_fits_its_bytes_and_its_key(signature, public):
    assert signature.name == "a.snh.sig"
    check_signature(DATA, signature, public)


@pytest.mark.parametrize("change", ["data", "key", "signature", "shorter", "empty"])
def test_whatever_is_changed_no_longer_fits(change, signature, public, tmp_path):
    data, whole = DATA, signature.read_bytes()
    if change == "data":
        data = b"A release"
    elif change == "key":
        public = new_key(tmp_path / "other.key")
    elif change == "signature":
        signature.write_bytes(bytes([whole[0] ^ 1]) + whole[1:])
    else:
        signature.write_bytes(whole[:-1] if change == "shorter" else b"")
    with pytest.raises(InputError, match="does not match this file and the key"):
        check_signature(data, signature, public)


def test_only_the_owner_can_read_the_private_key_and_none_is_replaced(key, public):
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    before = key.read_bytes(), public.read_bytes()
    with pytest.raises(InputError, match="a key is never replaced"):
        new_key(key)
    key.unlink()
    with pytest.raises(InputError, match=r"owner\.key\.pub: the file exists already"):
        new_key(key)
    assert public.read_bytes() == before[1]


def test_files_that_hold_something_else_are_named(key, public, signature, tmp_path):
    with pytest.raises(InputError, match=r"owner\.key\.pub: not a private key"):
        sign(DATA, public)
    with pytest.raises(InputError, match=r"owner\.key: not a public key"):
        check_signature(DATA, signature, key)
    with pytest.raises(InputError, match=r"gone: the signature cannot be read"):
        check_signature(DATA, tmp_path / "gone", public)
    other = tmp_path / "x25519.pem"
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    other.write_bytes(
        X25519PrivateKey.generate()
        .public_key()
        .public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    )
    with pytest.raises(InputError, match="not a public key"):
        check_signature(DATA, signature, other)


def test_a_key_has_a_name_that_people_can_compare(public, tmp_path):
    name = key_name(public)
    assert len(name) == 35
    assert name == key_name(public) != key_name(new_key(tmp_path / "other"))


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
def test_openssl_accepts_the_signature(signature, public, tmp_path):
    (tmp_path / "a.snh").write_bytes(DATA)
    words = ["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", public, "-rawin"]
    words += ["-in", tmp_path / "a.snh", "-sigfile", signature]
    found = subprocess.run(words, capture_output=True, text=True, check=False)
    assert "Successfully" in found.stdout, found
