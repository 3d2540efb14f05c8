"""Cards, and a release's entry in its ledger."""

from fractions import Fraction

import pytest

import snhkit as snh
from snhkit.release.card import card_json, card_markdown, card_registry


@pytest.fixture
def run(run, trips):
    """Return a function that types a line, and returns exit code, output and standard error."""
    return lambda line: run(*line.split())


RELEASE = (
    "release --data t.csv --center 43.038,-87.91 --side-km 2 --method identity --cell-m 500 "
    "--epsilon 0.5 --budget 2 --out "
)


def test_a_recorded_release_is_found_in_its_ledger(run):
    code, _, err = run(RELEASE + "a.snh")
    assert code == 0, err
    code, out, err = run("verify a.snh --ledger t.csv.ledger")
    assert (code, err) == (0, "")
    assert "Recorded as entry 1 of t.csv.ledger." in out
    assert "epsilon = 0.5" in out


def test_the_card_in_its_three_forms(run, tmp_path):
    run(RELEASE + "a.snh")
    made = snh.load(tmp_path / "a.snh")
    assert run("card a.snh")[1] == card_markdown(made)
    assert run("card a.snh --registry")[1] == card_registry(made)
    assert run("card a.snh --out a.json")[0] == 0
    assert (tmp_path / "a.json").read_text() == card_json(made)


def test_what_does_not_fit_is_told_in_one_line(run, tmp_path):
    run(RELEASE + "a.snh")
    data = (tmp_path / "a.snh").read_bytes()
    (tmp_path / "b.snh").write_bytes(data.replace(b'"Identity', b'"IdentitY'))
    cases = {
        "verify a.snh": "Missing option '--ledger'",
        "verify b.snh --ledger t.csv.ledger": "no release in the ledger has the checksum sha256:",
        "verify t.csv --ledger t.csv.ledger": "not a safetensors file",
    }
    for line, told in cases.items():
        code, out, err = run(line)
        assert (code, out, len(err.splitlines())) == (2, "", 1), line
        assert told in err


def test_an_entry_that_says_something_else_is_refused(run, tmp_path, monkeypatch):
    """A ledger whose entry has the file's checksum, but another epsilon."""
    from dataclasses import replace

    from snhkit import privacy

    run(RELEASE + "a.snh")
    ledger = privacy.read_ledger(tmp_path / "t.csv.ledger")
    for change, told in (
        ({"epsilon": ledger.entries[0].epsilon / 2}, "epsilon is 1/2, but 1/4 in entry 1"),
        ({"who": "UniformGrid"}, "method is Identity, but UniformGrid in entry 1 of the ledger"),
        ({"delta": Fraction(1, 10)}, "delta is 0, but 1/10 in entry 1"),
        ({"replayable": True}, "replayable is False"),
    ):
        changed = privacy.read_ledger(tmp_path / "t.csv.ledger")
        changed._entries = (replace(ledger.entries[0], **change),)
        with monkeypatch.context() as patched:
            patched.setattr(privacy, "read_ledger", lambda path, found=changed: found)
            code, _, err = run("verify a.snh --ledger t.csv.ledger")
        assert code == 2
        assert told in err


def test_a_change_of_any_part_of_a_release_is_found(run, tmp_path):
    """The checksum is that of the whole file, not of its beginning."""
    run(RELEASE + "a.snh")
    good = (tmp_path / "a.snh").read_bytes()
    assert run("verify a.snh --ledger t.csv.ledger")[0] == 0
    for at in (-1, -len(good) // 3, len(good) // 2):
        changed = bytearray(good)
        changed[at] ^= 1
        (tmp_path / "b.snh").write_bytes(changed)
        assert run("verify b.snh --ledger t.csv.ledger")[0] == 2
