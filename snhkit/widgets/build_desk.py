"""The buttons that build releases and cancel builds, with the progress and the messages."""

import asyncio
import html
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

import ipywidgets as w

from snhkit.errors import BudgetExceeded, InputError, SnhkitError
from snhkit.methods import method
from snhkit.privacy import exact, written
from snhkit.widgets.building import Building, Order
from snhkit.widgets.controls import Controls
from snhkit.widgets.session import DISTRICTS, Built, Session
from snhkit.widgets.wording import message


class BuildDesk(w.VBox):
    """Buttons that build the ticked methods and cancel a build, with its progress.

    ``built`` is called with each new release, and ``ended`` at the beginning and the end of a
    build.
    """

    def __init__(
        self,
        controls: Controls,
        session: Callable[[], Session],
        built: Callable[[Session, Built], object],
        ended: Callable[[], object],
    ) -> None:
        self._controls, self._session, self._changed = controls, session, ended
        self._work = Building(self.say, built)
        self._failed = False
        self.build = w.Button(
            description="Build",
            button_style="primary",
            tooltip="Build the ticked methods; each costs the chosen epsilon",
        )
        self.again = w.Button(
            description="Build again",
            button_style="warning",
            tooltip="Build existing releases again, with new noise, and spend their epsilon again",
        )
        self.cancel = w.Button(description="Cancel", tooltip="Stop the build", disabled=True)
        self.progress = w.FloatProgress(max=1)
        self.message = w.HTML()
        self.price = w.HTML()
        self._again = False
        bar = w.HBox([self.build, self.again, self.cancel, self.progress, self.price])
        bar.add_class("snhkit-buttons")
        super().__init__([bar, self.message])
        self.add_class("snhkit-desk")
        self.build.on_click(lambda _: self._clicked(again=False))
        self.again.on_click(lambda _: self._clicked(again=True))
        self.cancel.on_click(lambda _: self.stop())

    @property
    def running(self) -> bool:
        """True while a build is running."""
        return self._work.running

    def run(self, methods: tuple[str, ...], *, again: bool) -> None:
        """Build releases by methods, and return when all are built; see ``Explorer.build``."""
        said = ""
        try:
            order = self._order(methods, again=again)
            self._begin()
            self._work.run(order)
        except SnhkitError as refusal:
            said = str(refusal)
            raise
        finally:
            self._changed()
            self.tell(said, error=bool(said))

    def stop(self) -> None:
        """Cancel the running build; epsilon that was spent stays spent."""
        if not self.running:
            return
        self._work.cancel()
        self.cancel.disabled = True
        self.tell("Stopping …")

    def show(self) -> None:
        """Update the text on the epsilon of a build, and enable or disable the buttons."""
        ledger, busy = self._session().dataset.ledger, self.running
        price = exact(self._controls.epsilon.value) * len(self._controls.chosen)
        left = written(ledger.remaining)
        text, kind = f"spends ε = {written(price)} of the {left} left", "soft"
        if price > ledger.remaining:
            text, kind = f"{text}: refused as a whole, nothing is spent", "error"
        self.price.value = f'<p class="snhkit-{kind}">{html.escape(text)}</p>'
        self.build.disabled = self.again.disabled = busy
        self.cancel.disabled = not busy
        for shown, wanted in ((self.progress, busy), (self.cancel, busy), (self.price, not busy)):
            shown.layout.display = "" if wanted else "none"
        self.again.layout.display = "" if self._again and not busy else "none"

    def forget(self) -> None:
        """Remove an error message, or the offer to build again, after a setting has changed."""
        if self._failed or self._again:
            self._again = False
            self.tell("")
        self.show()

    def say(self, share: float, text: str) -> None:
        """Show the completed fraction of a build, 0 to 1, and a text on the current step."""
        self.progress.value = share
        self.tell(text)

    def tell(self, text: str, *, error: bool = False) -> None:
        """Show a text in the area for messages."""
        self._failed = error
        self.message.value = message(text, error=error) if text else ""

    def _order(self, methods: tuple[str, ...] = (), *, again: bool) -> Order:
        chosen = tuple(map(_known, methods)) or tuple(self._controls.chosen)
        if self.running:
            raise InputError("A build is running: wait until it ends, or cancel the build.")
        epsilon, sizes_m = float(self._controls.epsilon.value), self._controls.sizes_m
        session = self._session()
        by = self._controls.by_chosen
        order = Order(session, chosen, epsilon, sizes_m, by)
        repeated = {} if again else session.repeated(chosen, epsilon, sizes_m, by)
        if repeated:
            price = written(exact(epsilon) * len(repeated))
            raise Repeated(
                f"{_listed(list(repeated.values()))} {'is' if len(repeated) == 1 else 'are'} built "
                f"already. A second build draws new noise and spends another ε = {price}. Nothing "
                'was spent yet. To spend it, press "Build again", or call build(..., again=True).'
            )
        price, left = exact(epsilon) * len(chosen), session.dataset.ledger.remaining
        if price > left:
            builds = "This build" if len(chosen) == 1 else f"These {len(chosen)} builds"
            raise BudgetExceeded(
                f"{builds} would spend ε = {written(price)}, and {written(left)} is left. "
                "Nothing was spent: choose fewer methods or a smaller epsilon."
            )
        return order

    def _begin(self) -> None:
        self._again = False
        self.say(0, "Building …")
        self._changed()
        self.cancel.disabled, self.build.disabled = False, True
        self.cancel.layout.display = self.progress.layout.display = ""

    def _clicked(self, *, again: bool) -> None:
        try:
            order = self._order(again=again)
        except SnhkitError as refusal:
            self._again = isinstance(refusal, Repeated)
            self.tell(str(refusal), error=True)
            self.show()
            return
        self.start([order])

    def start(self, orders: Sequence[Order]) -> None:
        """Start to build each ``Order``, one after the other, without blocking the page."""
        self._begin()
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:  # outside a notebook, so there is no page to block
            asyncio.run(self._aside(orders))
        else:
            self._task = loop.create_task(self._aside(orders))

    async def _aside(self, orders: Sequence[Order]) -> None:
        said, failed, started = "", True, time.perf_counter()
        ticking = asyncio.create_task(self._tick(started))
        try:
            for order in orders:
                await self._work.run_aside(order)
            failed = False
        except SnhkitError as refusal:
            said = str(refusal)
        except Exception as failure:
            kind = type(failure).__name__
            said = f"The build failed with {kind}. The log of the notebook shows the error."
            raise
        finally:
            ticking.cancel()
            with suppress(asyncio.CancelledError):
                await ticking
            self._changed()
            self.tell(said, error=failed)

    async def _tick(self, started: float) -> None:
        """Update the elapsed time of the build every second."""
        while True:
            await asyncio.sleep(1)
            self.tell(self._work.said(time.perf_counter() - started))


class Repeated(InputError):  # noqa: N818 - a question, not an error
    """Raised if a release exists already; a person can then confirm that it is built again."""


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _known(key: str) -> str:
    """Return the name of a method; raise InputError if it is unknown or a package is missing."""
    if key != DISTRICTS and (extra := method(key).lacks):
        extra.require()
    return key
