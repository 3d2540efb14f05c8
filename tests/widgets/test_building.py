import asyncio
import re
import threading
from dataclasses import dataclass
from fractions import Fraction

import pytest

from snhkit.builders import UniformGrid
from snhkit.errors import InputError
from snhkit.methods import METHODS, Method
from snhkit.privacy import PrivacyUnit
from snhkit.progress import steps
from snhkit.widgets.building import Building, Cancelled, Order
from snhkit.widgets.opening import explore
from snhkit.widgets.session import synthetic

GO_ON, UG = threading.Event(), "UG, ε = 0.2"


@dataclass(frozen=True)
class Patient:
    """Draws its noise, then takes a step whenever it is let."""

    def check(self, region, terms):
        UniformGrid().check(region, terms)

    def build(self, private):
        release = UniformGrid().build(private)
        with steps(4, "waiting") as advance:
            for _ in range(4):
                assert GO_ON.wait(20)
                advance()
        return release


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    monkeypatch.setitem(METHODS, "patient", Method("Patient", lambda sizes_m, cell_m: Patient()))
    GO_ON.clear()
    yield
    GO_ON.set()


@pytest.fixture
def session():
    return synthetic("fargo", 1_000, 1, PrivacyUnit("record"))


def order(session, *methods):
    return Order(session, methods, 0.25, (25, 100))


def test_it_tells_how_far_it_is_and_hands_over_each_release(session):
    said, built = [], []
    GO_ON.set()
    work = Building(lambda *news: said.append(news), lambda _, one: built.append(one.name))
    work.run(order(session, "ug", "patient"))
    assert built == ["UG, ε = 0.25", "Patient, ε = 0.25"]
    shares = [share for share, _ in said]
    assert shares == [0, 0.5, 0.5, 0.625, 0.75, 0.875, 1]
    assert said[-1][1] == "Patient (2 of 2): waiting, 4 of 4"
    assert not work.running


def test_a_build_stopped_at_a_step_stays_spent_and_the_next_is_not_begun(session):
    def say(share, text):
        if "2 of 4" in text:
            work.cancel()

    work = Building(say, lambda *_: None)
    GO_ON.set()
    with pytest.raises(Cancelled, match=r"written: ε = 0\.25 stays spent"):
        work.run(order(session, "patient", "ug"))
    (entry,) = session.dataset.ledger.entries
    assert (entry.state, entry.reason, entry.epsilon) == ("failed", "Cancelled", Fraction(1, 4))
    work.run(order(session, "ug"))
    assert session.dataset.ledger.spent == Fraction(1, 2)


def test_stopped_between_two_methods_the_second_costs_nothing(session):
    work = Building(lambda *_: None, lambda *_: work.cancel())
    with pytest.raises(Cancelled, match="build of PrivTree was cancelled before it spent epsilon"):
        work.run(order(session, "ug", "privtree"))
    assert session.dataset.ledger.spent == Fraction(1, 4)


async def until(true):
    for _ in range(2_000):
        if true():
            return
        await asyncio.sleep(0.01)
    pytest.fail("waited too long")


def test_the_page_lives_while_the_button_builds_and_cancel_is_heard():
    explorer = explore(city="fargo", n=1_000, methods=["ug"])
    controls, desk = explorer._controls, explorer._desk

    async def story():
        controls.ticks["patient"].value = True
        desk.build.click()
        await until(lambda: UG in explorer.releases and "Patient" in desk.message.value)
        assert explorer.building
        assert desk.build.disabled
        assert controls.city.disabled
        assert not desk.cancel.disabled
        explorer.map.boxes = [[46.87, -96.80, 46.88, -96.78]]  # while it builds
        interval = r"<small>-?[\d,.]+ to -?[\d,.]+</small>"
        assert re.search(interval, explorer._said["table"].value)
        with pytest.raises(InputError, match="A build is running"):
            explorer.build("ug")
        desk.cancel.click()
        assert "Stopping" in desk.message.value
        GO_ON.set()
        await until(lambda: not desk.build.disabled)

    asyncio.run(story())
    assert "Patient was cancelled" in desk.message.value
    assert "failed (Cancelled)" in explorer._said["ledger"].value
    assert list(explorer.releases) == [UG]
    assert explorer.dataset.ledger.spent == Fraction(2, 5)
    assert desk.progress.layout.display == "none"
    GO_ON.set()
    explorer.build("patient")
    assert list(explorer.releases) == [UG, "Patient, ε = 0.2"]


def test_a_method_that_reports_no_step_is_left_to_itself_when_it_is_cancelled(session):
    @dataclass(frozen=True)
    class Deaf:
        def check(self, region, terms):
            pass

        def build(self, private):
            release = UniformGrid().build(private)
            assert GO_ON.wait(20)
            return release

    built = []
    work = Building(lambda *_: None, lambda _, one: built.append(one.name))

    async def story():
        task = asyncio.ensure_future(work.run_aside(order(session, "deaf", "ug")))
        await until(lambda: session.dataset.ledger.entries)
        work.cancel()
        before = asyncio.get_running_loop().time()
        with pytest.raises(Cancelled, match=r"written: ε = 0\.25 stays spent"):
            await task
        assert asyncio.get_running_loop().time() - before < 10  # it would have waited 20
        assert not work.running
        GO_ON.set()

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(METHODS, "deaf", Method("Deaf", lambda sizes_m, cell_m: Deaf()))
        asyncio.run(story())
    assert built == []
    assert session.dataset.ledger.spent == Fraction(1, 4)


def test_the_rest_is_estimated_from_the_share_that_is_done(session):
    work = Building(lambda *_: None, lambda *_: None)
    GO_ON.set()
    work.run(order(session, "patient"))
    assert work.said(10) == "Patient: waiting, 4 of 4 · 10 s, about 0 s more"
    work._share = 0.25
    assert work.said(10).endswith("10 s, about 30 s more")
    work._share = 0.01
    assert work.said(10).endswith("4 of 4 · 10 s")
