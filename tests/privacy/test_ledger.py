import os
import subprocess
import sys
import threading
import time
from datetime import UTC, timedelta
from fractions import Fraction
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snhkit.errors import BudgetExceeded, InputError
from snhkit.privacy import Budget, Ledger, PrivacyUnit, Spend, exact
from snhkit.privacy.spend import total

epsilons = st.fractions(min_value=Fraction(1, 1000), max_value=2, max_denominator=1000)


def test_overspending_names_the_shortfall_and_spends_nothing():
    ledger = Ledger(Budget("0.5"))
    ledger.charge(0.2, "UG")
    with pytest.raises(BudgetExceeded, match=r"SNH: asked 0\.4, left 0\.3, short by 0\.1"):
        ledger.charge(0.4, "SNH")
    assert ledger.spent == exact(0.2)
    assert len(ledger.entries) == 1


@given(epsilons, st.lists(epsilons, max_size=30))
def test_what_is_spent_is_the_sum_and_never_more_than_the_budget(budget, asked):
    ledger = Ledger(budget)
    granted = []
    for epsilon in asked:
        fits = epsilon <= ledger.remaining
        try:
            granted.append(ledger.charge(epsilon, "any").epsilon)
        except BudgetExceeded:
            assert not fits
        else:
            assert fits
        assert ledger.remaining >= 0
    assert sum(granted) == sum(e.epsilon for e in ledger.entries) == ledger.spent
    assert ledger.spent + ledger.remaining == ledger.total == budget


def test_threads_racing_for_the_last_epsilon():
    ledger, refused = Ledger(1), []
    ready = threading.Barrier(16)

    def spend():
        ready.wait()
        for _ in range(20):
            try:
                ledger.charge("0.01", "racer")
            except BudgetExceeded:
                refused.append(1)

    threads = [threading.Thread(target=spend) for _ in range(16)]
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(usual)
    assert ledger.spent == 1
    assert len(ledger.entries) == 100
    assert len(refused) == 16 * 20 - 100
    assert [e.number for e in ledger.entries] == list(range(1, 101))


def test_a_slow_charge_is_not_overtaken(monkeypatch):
    """While one charge is stored, no other one is granted from the same budget."""
    monkeypatch.setattr(Ledger, "_store", lambda *_: time.sleep(0.02))
    ledger, refused = Ledger(1), []

    def spend():
        try:
            ledger.charge("0.6", "slow")
        except BudgetExceeded:
            refused.append(1)

    threads = [threading.Thread(target=spend) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(refused), len(ledger.entries)) == (3, 1)


def test_settling_keeps_the_breakdown():
    ledger = Ledger(1)
    entry = ledger.charge(0.2, "SNH", replayable=True)
    spends = [Spend(exact(0.15), "counts of 100 cells", "parallel"), Spend(exact(0.05), "n")]
    settled = ledger.settle(entry, spends)
    assert ledger.entries == (settled,)
    assert settled.state == "settled"
    assert settled.replayable
    assert settled.spends == tuple(spends)
    assert total(settled.spends).epsilon == settled.epsilon == exact(0.2)


def test_spends_above_the_charge_are_not_settled():
    ledger = Ledger(1)
    entry = ledger.charge(0.2, "SNH")
    with pytest.raises(BudgetExceeded, match=r"used 0\.3 of 0\.2 charged, 0\.1 too much"):
        ledger.settle(entry, [Spend(exact(0.2), "a"), Spend(exact(0.1), "b")])
    assert ledger.fail(entry, BudgetExceeded("x")).reason == "BudgetExceeded"


def test_a_delta_that_was_not_charged_is_not_settled():
    ledger = Ledger(1)
    entry = ledger.charge(0.2, "DPSGD", delta=exact("1e-6"))
    half = Spend(exact(0.1), "sums", delta=exact("1e-6"))
    with pytest.raises(BudgetExceeded, match=r"used delta 0\.000002 of 0\.000001 charged"):
        ledger.settle(entry, [half, half])
    assert ledger.settle(entry, [half]).delta == exact("1e-6")


def test_a_cost_that_zcdp_does_not_know_is_refused_by_a_budget_with_a_delta():
    ledger = Ledger(Budget(1, delta="1e-6"))
    with pytest.raises(InputError, match="in zCDP is unknown"):
        ledger.charge("0.1", "DPSGD", delta=exact("1e-7"))
    assert not ledger.entries


@pytest.mark.parametrize("delta", [-1, 1, 2])
def test_a_delta_is_a_probability(delta):
    ledger = Ledger(1)
    with pytest.raises(InputError, match="delta must be"):
        ledger.charge(0.1, "DPSGD", delta=delta)
    assert not ledger.entries


def test_a_failed_build_stays_spent_and_reveals_no_data():
    ledger = Ledger(1)
    entry = ledger.charge(0.4, "SNH")
    failed = ledger.fail(entry, ValueError("row 17: Alice at 37.76, -122.43"))
    assert failed.state == "failed"
    assert failed.reason == "ValueError"
    assert ledger.remaining == exact(0.6)
    with pytest.raises(BudgetExceeded, match=r"asked 0\.7, left 0\.6"):
        ledger.charge(0.7, "SNH")
    assert "Alice" not in f"{ledger!r}{ledger._repr_html_()}{ledger.to_frame().to_string()}"
    assert ledger.fail(ledger.charge(0.1, "UG")).reason == ""


def test_an_entry_is_closed_once_and_by_its_own_ledger():
    ledger, other = Ledger(1), Ledger(1)
    entry, foreign = ledger.charge(0.1, "UG"), other.charge(0.1, "UG")
    settled = ledger.settle(entry, [])
    for stale in (entry, settled, foreign):
        with pytest.raises(InputError, match="not an open entry"):
            ledger.fail(stale)
        with pytest.raises(InputError, match="not an open entry"):
            ledger.settle(stale, [])


@pytest.mark.parametrize("who", ["", "  ", "two\nlines", "\x1b[2J"])
def test_who_is_one_printable_line(who):
    ledger = Ledger(1)
    with pytest.raises(InputError, match="printable"):
        ledger.charge(0.1, who)
    assert ledger.spent == 0


def test_times_are_utc():
    assert Ledger(1).charge(1, "UG").when.utcoffset() == timedelta(0)
    assert Ledger(1).charge(1, "UG").when.tzinfo is UTC


FORKED = """
import os
from snhkit.errors import InputError
from snhkit.privacy import Ledger
ledger = Ledger(1)
child = os.fork()
if not child:
    try:
        ledger.charge("0.6", "child")
    except InputError as error:
        print(error, ledger.spent, flush=True)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
ledger.charge("0.6", "parent")
print(ledger.spent)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_child_cannot_charge_a_ledger_in_memory():
    """Each child would have a budget of its own. Runs in a new process, which has no threads."""
    command = [sys.executable, "-c", FORKED]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    refused, parent = found.splitlines()
    assert refused.endswith("keep the ledger in a file (ledger=...). Nothing was spent. 0")
    assert parent == "3/5"


TINY = Fraction(1, 10**18)


@pytest.mark.parametrize("budget", [Budget(1), Budget(1, delta="1e-6")])
def test_a_budget_is_exact_to_the_last_digit(budget):
    """Floats would not see a charge of 10^-18 too much."""
    ledger = Ledger(budget)
    if budget.delta:
        ledger.charge("0.1", "UG", delta=budget.delta, rho=budget.rho - TINY)
    else:
        ledger.charge(1 - TINY, "UG")
    with pytest.raises(BudgetExceeded, match="short by"):
        ledger.charge(
            2 * TINY, "UG", delta=budget.delta, rho=2 * TINY if budget.delta else Fraction(0)
        )
    assert ledger.charge(TINY, "UG", delta=budget.delta, rho=TINY if budget.delta else Fraction(0))


@pytest.mark.parametrize("field", ["epsilon", "delta", "rho"])
def test_a_settled_cost_is_exact_to_the_last_digit(field):
    ledger = Ledger(Budget(1, delta="1e-6") if field == "rho" else 1)
    half = Fraction(1, 100)
    entry = ledger.charge("0.1", "UG", delta=half, rho=half if field == "rho" else Fraction(0))
    parts = {"epsilon": Fraction(1, 10), "delta": half, "rho": half}
    cost = {"epsilon": Fraction(1, 100), "delta": Fraction(0)} if field == "delta" else {}
    cost = cost | {field: parts[field] + TINY}
    if field == "rho":
        cost = {"epsilon": Fraction(0), "rho": half + TINY}
    spend = Spend(cost.pop("epsilon", Fraction(0)), "counts", **cost)
    with pytest.raises(BudgetExceeded, match="too much"):
        ledger.settle(entry, [spend])


def test_entries_change_only_while_the_ledger_is_locked():
    """Otherwise, two threads could charge the same epsilon."""

    class Watched(Ledger):
        def __setattr__(self, name, value):
            assert name != "_entries" or not hasattr(self, "_lock") or self._lock.locked()
            super().__setattr__(name, value)

    ledger = Watched(1)
    ledger.settle(ledger.charge("0.2", "UG"), [])
    ledger.fail(ledger.charge("0.2", "UG"))
    assert ledger.spent == Fraction(2, 5)


def test_a_charge_that_no_float_can_tell_from_the_rest_is_refused():
    ledger = Ledger(1)
    with pytest.raises(BudgetExceeded):
        ledger.charge(1 + Fraction(1, 2**60), "UG")
    assert ledger.entries == ()
    ledger.charge(1, "UG")


@pytest.fixture
def ledger() -> Ledger:
    ledger = Ledger(1)
    entry = ledger.charge(0.2, "UG")
    ledger.settle(entry, [Spend(exact(0.2), "counts of 193,600 cells", "parallel")])
    ledger.charge(0.25, "<script>alert('&')</script>", replayable=True)
    ledger.fail(ledger.charge("0.15", "PrivTree"), MemoryError())
    return ledger


class Tags(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict]] = []
        self.text: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text.append(data)


def test_in_a_terminal_columns_align(ledger):
    summary, head, *rows = repr(ledger).splitlines()
    assert str(ledger) == repr(ledger)
    assert summary == "Privacy budget: epsilon 1, spent 0.6, left 0.4"
    assert head.split() == ["#", "when", "(UTC)", "who", "epsilon", "state", "bought"]
    assert len(rows) == 3
    state = head.index("state")
    assert rows[0][state:].startswith("settled ")
    assert rows[1][state:] == "open, replayable"
    assert rows[2][state:] == "failed (MemoryError)"
    ends = head.index("epsilon") + len("epsilon")
    assert [row[:ends].split()[-1] for row in rows] == ["0.2", "0.25", "0.15"]
    assert rows[0][head.index("bought") :] == "0.2 for counts of 193,600 cells, in parallel"
    assert repr(Ledger(2)) == "Privacy budget: epsilon 2, spent 0, left 2"


def test_in_a_notebook_names_are_escaped(ledger):
    page = Tags(ledger._repr_html_())
    assert "script" not in [tag for tag, _ in page.tags]
    assert "<script>alert('&')</script>" in page.text


def test_in_a_notebook_replayable_entries_are_marked_in_red(ledger):
    page = Tags(ledger._repr_html_())
    styled = [attrs["style"] for tag, attrs in page.tags if "style" in attrs]
    assert len(styled) == page.text.count("replayable") == 1
    assert "background:#b3261e" in styled[0]
    assert "color:#fff" in styled[0]  # its own background: legible in a dark theme too


def test_in_a_notebook_the_table_is_accessible(ledger):
    tags = Tags(ledger._repr_html_()).tags
    assert [tag for tag, _ in tags].count("caption") == 1
    scopes = [attrs.get("scope") for tag, attrs in tags if tag == "th"]
    assert scopes == ["col"] * 6 + ["row"] * 3


def test_deltas_are_added_up_if_there_are_any(ledger):
    failed, built = (ledger.charge(0.1, "DPSGD", delta=exact("1e-6")) for _ in "ab")
    ledger.fail(failed)  # noise may have been drawn
    ledger.settle(built, [Spend(exact("0.1"), "sums", delta=exact("1e-6"))])
    summary, _, *rows = repr(ledger).splitlines()
    assert summary.endswith("spent 0.8, left 0.2; and delta 0.000002: not pure")
    assert rows[-1].endswith("0.1 (delta = 0.000001) for sums")
    assert summary in Tags(ledger._repr_html_()).text
    assert ledger.to_frame().delta.tolist() == [0, 0, 0, 1e-6, 1e-6]


def test_as_a_frame(ledger):
    frame = ledger.to_frame()
    assert frame.epsilon.tolist() == [0.2, 0.25, 0.15]
    assert frame.state.tolist() == ["settled", "open", "failed"]
    assert frame.replayable.tolist() == [False, True, False]
    assert frame.reason.tolist() == ["", "", "MemoryError"]
    assert str(frame.when.dt.tz) == "UTC"
    assert list(Ledger(1).to_frame().columns) == list(frame.columns)


@pytest.mark.parametrize(
    ("n_public", "budget", "told"),
    [
        (False, 1, "Each entry hides all records of one person"),
        (True, 1, "n is public: each entry hides all (at most 2) records of one person replaced by "
         "as many others, at twice its epsilon"),
        (False, Budget(1, delta=1e-6), "Each entry hides all records of one person"),
        (True, Budget(1, delta=1e-6), "n is public: each entry hides all (at most 2) records of "
         "one person replaced by as many others, at the epsilon on its release card"),
    ],
)  # fmt: skip
def test_it_says_what_an_entry_hides_and_at_which_epsilon(n_public, budget, told):
    ledger = Ledger(budget, PrivacyUnit("user", 2, n_public=n_public))
    assert repr(ledger).splitlines()[1] == told
    assert told in Tags(ledger._repr_html_()).text
