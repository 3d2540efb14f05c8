"""The events of a ledger's file: their fields, and checks of a file that may be hostile."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any, get_args

from snhkit.errors import InputError
from snhkit.privacy.budget import Budget, fraction
from snhkit.privacy.entry import Entry, State, left
from snhkit.privacy.spend import Cost, Spend, _Costly, total
from snhkit.privacy.unit import PrivacyUnit
from snhkit.privacy.zcdp import epsilon_of

_FORMATS = {False: 1, True: 2}  # key: whether the budget has a delta, which format 1 cannot hold
_CLOSING = re.compile(rb'[0-9a-f]{64} \{"event": "(settled|failed)"')
_CHECKSUM = re.compile(r"(sha256:[0-9a-f]{64})?")
_MAX_TEXT = 10_000  # characters


@dataclass(frozen=True)
class Opening:
    """The first event of a ledger's file: keyed hash of the records, unit of privacy, budget."""

    records: str
    unit: PrivacyUnit
    budget: Budget

    def event(self) -> dict[str, Any]:
        """Return the event as JSON values by name."""
        delta = {"delta": str(self.budget.delta)} if self.budget.delta else {}
        return {
            "event": "opened",
            "records": self.records,
            "unit": self.unit.to_dict(),
            "format": _FORMATS[bool(delta)],
            "budget": str(self.budget.epsilon),
            **delta,
        }

    @classmethod
    def of(cls, event: Mapping[str, Any], path: Path) -> "Opening":
        """Return the first event of a file, after a check of each field."""
        fields = _Fields(path, 1, event)
        if event.get("format") != _FORMATS["delta" in event]:
            raise InputError(f"{path}: this version of snhkit does not read this format of ledger.")
        records, epsilon = fields.text("records"), fields.number("budget")
        delta = fields.number("delta", "0")
        unit = fields.value("unit", dict, "a JSON object")
        try:
            budget, known = Budget(epsilon, delta), PrivacyUnit.restore(unit)
            if budget.delta and budget.rho <= 0:
                raise InputError("its budget is too small.")
        except (InputError, TypeError, OverflowError) as error:
            raise InputError(f"{path}: line 1: {error}") from None
        return cls(records, known, budget)


def entry_event(entry: Entry) -> dict[str, Any]:
    """Return an entry's event; its cost comes first, where a line that is cut shows it."""
    return {
        "event": entry.state,
        "epsilon": str(entry.epsilon),
        "delta": str(entry.delta),
        **({"rho": str(entry.rho)} if entry.rho else {}),
        "number": entry.number,
        "when": entry.when.isoformat(),
        "who": entry.who,
        "replayable": entry.replayable,
        "spends": [spend.to_list() for spend in entry.spends],
        "reason": entry.reason,
        "checksum": entry.checksum,
    }


def replayed(
    events: Iterable[Mapping[str, Any]],
    entries: Iterable[Entry],
    budget: Budget,
    rho: Fraction,
    path: Path,
    line: int,
) -> tuple[Entry, ...]:
    """Return the entries after events from ``line`` on; InputError names the line and field."""
    known = list(entries)
    used = total(known)
    for number, event in enumerate(events, start=line):
        fields = _Fields(path, number, event)
        entry = fields.entry()
        if entry.number == len(known) + 1 and entry.state != "settled":
            used = fields.sum([used, entry])
            if used.rho > rho if budget.delta else used.epsilon > budget.epsilon:
                raise fields.wrong("epsilon", f"at most what is left of the budget, {budget}")
            known.append(entry)
            continue
        if not 1 <= entry.number <= len(known):
            raise fields.wrong("number", f"that of a charge, at most {len(known) + 1}")
        charge = known[entry.number - 1]
        if charge.state != "open":
            raise fields.wrong("number", "that of an entry that is open")
        for name in ("when", "who", "epsilon", "delta", "rho", "replayable"):
            if getattr(entry, name) != getattr(charge, name):
                raise fields.wrong(name, f"that of the charge, {getattr(charge, name)}")
        known[entry.number - 1] = entry
    return tuple(known)


def torn_charge(
    tail: bytes, entries: Iterable[Entry], budget: Budget, rho: Fraction
) -> Entry | None:
    """Return the charge that an incomplete last line may be: the one it shows, or all that is left.

    None is returned if the line is the end of a build that was charged before, or nothing is left.
    """
    entries = list(entries)
    rest = left(budget, entries, rho)
    if _CLOSING.match(tail) or max(rest) <= 0:
        return None
    epsilon, of_rho = (_shown(tail, name) for name in ("epsilon", "rho"))
    if budget.delta:
        of_rho = of_rho if of_rho and of_rho <= rest.rho else rest.rho
        epsilon = epsilon or epsilon_of(of_rho, budget.delta)
    else:
        epsilon = epsilon if epsilon and epsilon <= rest.epsilon else rest.epsilon
        of_rho = Fraction(0)
    return Entry(
        len(entries) + 1, datetime.now(UTC), "incomplete line", epsilon, rho=of_rho, state="failed",
        reason="IncompleteLine",
    )  # fmt: skip


def _shown(tail: bytes, name: str) -> Fraction | None:
    """Return a number that the beginning of a line shows, if it does and the number is above 0."""
    found = re.search(rf'"{name}": "([^"]*)"'.encode(), tail)
    try:
        return (fraction(name, found[1].decode()) or None) if found else None
    except (InputError, ValueError):
        return None


class _Fields:
    """The fields of an event, checked one by one; messages name the line and the field."""

    def __init__(self, path: Path, line: int, event: Mapping[str, Any]) -> None:
        self._path, self._line, self._event = path, line, event

    def wrong(self, name: str, words: str) -> InputError:
        """Return the error that says what a field must be."""
        shown = repr(self._event.get(name, "missing"))[:60]
        return InputError(
            f"{self._path}: line {self._line}: {name!r} must be {words}, not {shown}; the ledger "
            "was changed, or written by a later version. Restore the file from a copy."
        )

    def value(self, name: str, kind: type, words: str, default: Any = None) -> Any:
        """Return a field, after a check of its type."""
        found = self._event.get(name, default)
        if type(found) is not kind:
            raise self.wrong(name, words)
        return found

    def text(self, name: str, default: str | None = None) -> str:
        """Return a field with a line of printable text."""
        words = "one line of printable text"
        found = self.value(name, str, words, default)
        if len(found) > _MAX_TEXT or not found.isprintable():
            raise self.wrong(name, words)
        return found

    def number(self, name: str, default: str | None = None) -> Fraction:
        """Return a field with a number of at least 0."""
        try:
            return fraction(name, self.value(name, str, "a fraction written as text", default))
        except InputError:
            raise self.wrong(name, "a number of at least 0, written as p or p/q") from None

    def entry(self) -> Entry:
        """Return the entry of the event."""
        state = self.text("event")
        if state not in get_args(State):
            raise self.wrong("event", "open, settled or failed")
        who, checksum = self.text("who"), self.text("checksum", "")
        if not who.strip():
            raise self.wrong("who", "the name of a method")
        if not _CHECKSUM.fullmatch(checksum):
            raise self.wrong("checksum", "'sha256:' and 64 hexadecimal digits")
        epsilon, delta = self.number("epsilon"), self.number("delta")
        if not epsilon:
            raise self.wrong("epsilon", "greater than 0")
        if delta >= 1:
            raise self.wrong("delta", "below 1")
        entry = Entry(
            number=self.value("number", int, "a whole number"),
            when=self._when(),
            who=who,
            epsilon=epsilon,
            delta=delta,
            rho=self.number("rho", "0"),
            replayable=self.value("replayable", bool, "true or false"),
            state=state,  # pyright: ignore[reportArgumentType]
            spends=self._spends(),
            reason=self.text("reason"),
            checksum=checksum,
        )
        used = zip(self.sum(entry.spends), total([entry]), strict=True)
        if any(part > whole for part, whole in used):
            raise self.wrong("spends", "at most the charge, together")
        return entry

    def sum(self, parts: Iterable[_Costly]) -> Cost:
        """Return the sum of costs of the event."""
        try:
            return total(parts)
        except InputError as error:
            raise InputError(f"{self._path}: line {self._line}: {error}") from None

    def _when(self) -> datetime:
        try:
            when = datetime.fromisoformat(self.text("when"))
            if when.tzinfo is not None:
                return when.astimezone(UTC)
        except (ValueError, OverflowError):
            pass
        raise self.wrong("when", "a time with its zone, such as 2026-01-31T12:00:00+00:00")

    def _spends(self) -> tuple[Spend, ...]:
        try:
            spends = tuple(map(Spend.of_list, self.value("spends", list, "a list")))
            if all(spend.what.isprintable() for spend in spends):
                return spends
        except InputError:
            pass
        raise self.wrong("spends", "a list of costs, each of three to five printable texts")
