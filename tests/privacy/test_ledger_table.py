from html.parser import HTMLParser

import pytest

from snhkit.privacy import Budget, Ledger, PrivacyUnit, Spend, exact


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
