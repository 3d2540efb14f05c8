"""A ledger's file may be hostile: each field of each event is checked, and named in the message."""

import hashlib
import json
from datetime import UTC, datetime
from fractions import Fraction

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from snhkit.errors import InputError, LedgerWarning
from snhkit.geometry import Points, Region
from snhkit.privacy import Budget, PointSource, PrivacyUnit, Spend, read_ledger
from snhkit.privacy.events import torn_charge
from snhkit.privacy.stored_ledger import StoredLedger

RECORDS = PointSource(Points(Region.around(lat=0, lon=0, side_m=100), [[1, 1]]))
UNIT = PrivacyUnit("record")
GAUSSIAN = Budget(1, delta="1e-6")


def write(path, events) -> None:
    """Write events with the right checksums, as an attacker can."""
    checksum, lines = "0" * 64, []
    for event in events:
        text = json.dumps(event)
        checksum = hashlib.sha256(f"{checksum} {text}".encode()).hexdigest()
        lines.append(f"{checksum} {text}\n")
    path.write_text("".join(lines))


def ledger(path, budget: Budget | int = 1) -> StoredLedger:
    return StoredLedger(path, RECORDS, UNIT, budget)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a.ledger"


@pytest.fixture
def events(path):
    """The events of a ledger: opened, a charge, its end, an open charge."""
    ours = ledger(path)
    ours.settle(ours.charge("0.2", "UG"), [Spend(Fraction(1, 5), "counts", "parallel")])
    ours.charge("0.4", "SNH")
    return [json.loads(line[65:]) for line in path.read_text().splitlines()]


@pytest.mark.parametrize(
    ("line", "field", "value", "told"),
    [
        (1, "format", 7, "does not read this format"),
        (1, "budget", "1e99999999", "'budget' must be a number of at least 0, written as p or p/q"),
        (1, "budget", "0", "line 1: epsilon must be greater than 0"),
        (1, "budget", None, "line 1: 'budget' must be"),
        (1, "delta", "1", "does not read this format"),
        (1, "unit", {"kind": "x"}, "line 1: unit must be"),
        (1, "unit", {"kind": "user"}, "line 1: "),
        (1, "unit", "record", "line 1: 'unit' must be a JSON object"),
        (1, "records", 5, "line 1: 'records' must be one line of printable text"),
        (2, "event", "opened", "line 2: 'event' must be open, settled or failed"),
        (2, "event", "settled", "line 2: 'number' must be that of a charge"),
        (2, "epsilon", "-5", "line 2: 'epsilon' must be a number of at least 0"),
        (2, "epsilon", "1e99999999", "line 2: 'epsilon' must be"),
        (2, "epsilon", "0", "line 2: 'epsilon' must be greater than 0"),
        (2, "epsilon", "2", "line 2: 'epsilon' must be at most what is left of the budget, 1"),
        (2, "epsilon", "1/0", "line 2: 'epsilon' must be"),
        (2, "epsilon", 0.2, "line 2: 'epsilon' must be a number of at least 0"),
        (2, "delta", "1", "line 2: 'delta' must be below 1"),
        (2, "number", 2, "line 2: 'number' must be that of a charge, at most 1"),
        (2, "number", 0, "line 2: 'number' must be"),
        (2, "number", True, "line 2: 'number' must be a whole number"),
        (2, "who", "UG\x1b[2J", "line 2: 'who' must be one line of printable text"),
        (2, "who", "  ", "line 2: 'who' must be the name of a method"),
        (2, "who", "x" * 10_001, "line 2: 'who' must be"),
        (2, "when", "yesterday", "line 2: 'when' must be a time with its zone"),
        (2, "when", "2026-01-01T00:00:00", "line 2: 'when' must be a time with its zone"),
        (2, "replayable", "no", "line 2: 'replayable' must be true or false"),
        (3, "epsilon", "1/4", "line 3: 'epsilon' must be that of the charge, 1/5"),
        (3, "who", "SNH", "line 3: 'who' must be that of the charge, UG"),
        (3, "delta", "1/9", "line 3: 'delta' must be that of the charge"),
        (3, "replayable", True, "line 3: 'replayable' must be that of the charge"),
        (3, "when", "2026-01-01T00:00:00+00:00", "line 3: 'when' must be that of the charge"),
        (3, "spends", [["1", "counts", "parallel"]], "line 3: 'spends' must be at most the charge"),
        (
            3,
            "spends",
            [["1/5", "counts\n", "parallel"]],
            "line 3: 'spends' must be a list of costs",
        ),
        (3, "spends", [["1/5", "counts", "free"]], "line 3: 'spends' must be a list of costs"),
        (3, "spends", ["counts"], "line 3: 'spends' must be a list of costs"),
        (3, "spends", {}, "line 3: 'spends' must be a list"),
        (3, "checksum", "md5", "line 3: 'checksum' must be"),
        (3, "reason", None, "line 3: 'reason' must be"),
        (4, "number", 1, "line 4: 'number' must be that of an entry that is open"),
        (4, "rho", "1/0", "line 4: 'rho' must be"),
    ],
)
def test_a_wrong_field_is_named(path, events, line, field, value, told):
    events[line - 1][field] = value
    write(path, events)
    with pytest.raises(InputError) as error:
        read_ledger(path)
    assert told in str(error.value)
    assert str(error.value).isprintable()
    with pytest.raises(InputError):
        ledger(path)


@pytest.mark.parametrize("line", [1, 2, 3])
def test_a_missing_field_is_named(path, events, line):
    for field in set(events[line - 1]) - {"checksum", "event", "format"}:
        changed = [dict(event) for event in events]
        del changed[line - 1][field]
        write(path, changed)
        with pytest.raises(InputError, match=f"line {line}: '{field}' must be .*, not 'missing'"):
            read_ledger(path)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text()
    | st.sampled_from(["1", "1/3", "9" * 400, "1e99999999", "open", "settled", "failed"]),
    lambda values: st.lists(values, max_size=4) | st.dictionaries(st.text(), values, max_size=4),
    max_leaves=8,
)  # fmt: skip


@settings(
    max_examples=100, deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)  # fmt: skip
@given(data=st.data())
def test_any_change_with_right_checksums_is_read_or_refused(path, events, data):
    changed = json.loads(json.dumps(events))
    for _ in range(data.draw(st.integers(1, 3))):
        event = data.draw(st.sampled_from(changed))
        event[data.draw(st.sampled_from(sorted(event)))] = data.draw(json_values)
    write(path, changed)
    try:
        found = read_ledger(path)
    except InputError as error:
        assert str(error).isprintable()  # noqa: PT017
        assert "line " in str(error) or "format" in str(error) or "not a ledger" in str(error)  # noqa: PT017
    else:
        assert 0 <= found.spent <= found.total
        assert repr(found).replace("\n", "").isprintable()


def test_costs_that_cannot_be_added_exactly_are_refused_at_both_ends(path, events):
    """A sum of fractions with unlike denominators would take quadratic time."""
    opening, charge = events[0], events[1]
    primes = [n for n in range(10**6, 10**6 + 8_000) if all(n % k for k in range(2, 1_000))]
    many = [
        charge | {"number": k, "epsilon": f"1/{prime}"} for k, prime in enumerate(primes, start=1)
    ]
    write(path, [opening, *many])
    with pytest.raises(InputError, match=r"line \d+: the costs cannot be added up exactly"):
        read_ledger(path)
    write(path, [opening, *many[:400]])
    ours = ledger(path)
    charges = (ours.charge(Fraction(1, prime), "UG") for prime in primes[400:])
    with pytest.raises(InputError, match="cannot be added up exactly"):
        list(charges)
    assert read_ledger(path).spent == ours.spent  # nothing was written that cannot be read


class TestATornLine:
    """An acknowledged charge is never lost with the end of the file."""

    @pytest.mark.parametrize("budget", [1, GAUSSIAN])
    def test_a_cut_at_any_byte_of_a_charge_leaves_it_spent(self, path, budget, monkeypatch):
        monkeypatch.setattr("time.sleep", lambda seconds: None)
        ours = ledger(path, budget)
        ours.settle(ours.charge("0.05", "UG"), [])
        before = len(path.read_bytes())
        ours.charge("0.1", "SNH")
        after, whole = ours.spent, path.read_bytes()
        for kept in range(before + 1, len(whole)):
            path.write_bytes(whole[:kept])
            with pytest.warns(LedgerWarning, match="incomplete"):
                found = read_ledger(path)
            cost = whole[before:kept].partition(b'"rho": "' if found.rho else b'"epsilon": "')[2]
            if b'"' in cost:  # the line shows what it costs
                assert found.spent == after
            else:
                assert found.spent > after
                assert found.remaining == 0
            assert path.read_bytes() == whole[:kept]

    def test_a_cut_in_the_end_of_a_build_costs_nothing(self, path, events):
        path.write_bytes(path.read_bytes()[: -len(path.read_bytes().splitlines()[-1]) - 20])
        with pytest.warns(LedgerWarning, match="It is no charge, so it counts as nothing"):
            found = read_ledger(path)
        assert [(e.state, e.epsilon) for e in found.entries] == [("open", Fraction(1, 5))]

    @pytest.mark.parametrize("end", [b"", b"\x0b"])
    def test_a_lost_newline_costs_what_the_line_says(self, path, events, end):
        path.write_bytes(path.read_bytes()[:-1] + end)
        with pytest.warns(LedgerWarning, match="Only its end is lost"):
            found = read_ledger(path)
        assert found.spent == Fraction(3, 5)
        assert found.entries[1].state == "open"

    def test_the_next_charge_moves_it_aside_and_keeps_its_cost(self, path, events):
        whole = path.read_bytes()
        path.write_bytes(whole[:-150])
        tail = path.read_bytes().split(b"\n")[-1]
        with pytest.warns(
            LedgerWarning, match=r"counts as epsilon 2/5.*moves it to .*a\.ledger\.torn\."
        ):
            ours = ledger(path)
        assert path.read_bytes() == whole[:-150]  # opening is reading
        with pytest.warns(LedgerWarning, match="was moved to"):
            entry = ours.charge("0.1", "UG")
        ours.settle(entry, [])
        assert path.with_name("a.ledger.torn").read_bytes() == tail
        found = read_ledger(path)
        assert found.entries == ours.entries == ledger(path).entries
        assert [(e.who, e.state, e.epsilon) for e in found.entries[1:]] == [
            ("incomplete line", "failed", Fraction(2, 5)), ("UG", "settled", Fraction(1, 10)),
        ]  # fmt: skip

    def test_one_that_tears_while_the_ledger_is_open_is_seen(self, path, events):
        ours = ledger(path)
        assert ours.spent == Fraction(3, 5)
        whole = path.read_bytes()
        other = ledger(path)
        other.charge("0.3", "SNH")  # another process, which a power failure ends
        path.write_bytes(path.read_bytes()[:-2])
        assert ours.spent == Fraction(9, 10)
        with pytest.warns(LedgerWarning, match="was moved to"):
            ours.charge("0.05", "UG")
        assert read_ledger(path).spent == ours.spent == Fraction(19, 20)
        assert path.read_bytes().startswith(whole)

    def test_two_processes_agree_on_it(self, path, events):
        path.write_bytes(path.read_bytes()[:-150])
        with pytest.warns(LedgerWarning):
            one, other = ledger(path), ledger(path)
        with pytest.warns(LedgerWarning, match="was moved to"):
            one.charge("0.1", "UG")
        other.charge("0.1", "UG")
        assert one.spent == other.spent == Fraction(4, 5)
        assert one.entries == other.entries

    def test_an_unreadable_line_uses_up_the_budget(self, path, events):
        path.write_bytes(path.read_bytes() + bytes(40))
        with pytest.warns(LedgerWarning, match="counts as epsilon 2/5"):
            ours = ledger(path)
        assert ours.remaining == 0

    def test_a_budget_for_a_ledger_that_cannot_be_read_is_refused(self, path, events):
        for content in (path.read_bytes()[:200], b"", bytes(300)):
            path.write_bytes(content)
            with pytest.raises(InputError, match=r"incomplete|empty|not a ledger"):
                ledger(path, 1)
            assert path.read_bytes() == content

    def test_nothing_is_charged_if_nothing_is_left(self):
        assert torn_charge(b"x", [], Budget(1), Fraction(0)).epsilon == 1
        whole = torn_charge(b"x", [], GAUSSIAN, GAUSSIAN.rho)
        assert whole.rho == GAUSSIAN.rho
        assert torn_charge(b"x", [whole], GAUSSIAN, GAUSSIAN.rho) is None
        shown = b'"epsilon": "5", "delta": "0"'  # more than is left
        assert torn_charge(shown, [], Budget(1), Fraction(0)).epsilon == 1
        assert whole.when <= datetime.now(UTC)


def test_a_full_disk_at_the_end_of_a_build_leaves_the_charge(path, monkeypatch):
    import os

    ours = ledger(path)
    entry = ours.charge("0.2", "UG")
    write = os.write
    monkeypatch.setattr(os, "write", lambda handle, data: write(handle, data[:10]))
    told = "Entry 1 stays open, so its epsilon stays spent, and its release is lost. Make space"
    with pytest.raises(InputError, match=told):
        ours.settle(entry, [])
    with pytest.raises(InputError, match=r"no space left.*Nothing was spent"):
        ours.charge("0.2", "UG")
    monkeypatch.undo()
    assert read_ledger(path).spent == Fraction(1, 5)
    assert ours.settle(ours.charge("0.3", "UG"), []).number == 2  # after space was made
    assert ours.settle(entry, []).state == "settled"


@pytest.mark.parametrize("content", [b"", b"x" * 31, b"x" * 10**6])
def test_a_key_of_another_length_is_refused(path, content):
    ledger(path)
    path.with_name("a.ledger.key").write_bytes(content)
    with pytest.raises(InputError, match=r"has 32 bytes, and this file has (0|31|more)"):
        ledger(path)
