"""A real browser that cannot reach anything but this machine."""

import os
import shutil
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module")
def chromium() -> Iterator:
    """Chromium, from SNHKIT_CHROMIUM or the path; without one, a skip, but a failure under CI."""
    found = os.environ.get("SNHKIT_CHROMIUM") or shutil.which("chromium")
    if not found:
        why = "no Chromium: install Debian's chromium, or name one in SNHKIT_CHROMIUM"
        if os.environ.get("CI", "").lower() in ("1", "true"):
            pytest.fail(why)
        pytest.skip(why)
    from playwright.sync_api import sync_playwright

    only_here = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
    with sync_playwright() as play:
        browser = play.chromium.launch(
            executable_path=found, args=["--no-sandbox", "--disable-gpu", only_here]
        )
        yield browser
        browser.close()


@pytest.fixture
def window(chromium) -> Iterator:
    """A page of 1280 by 800 that fails the test if it logs an error or asks the network."""
    context = chromium.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    wrong = []
    page.on("pageerror", lambda error: wrong.append(f"error: {error}"))
    page.on(
        "request",
        lambda ask: (
            wrong.append(f"asked for {ask.url[:120]}")
            if ask.url.startswith(("http", "ws")) and "//127.0.0.1" not in ask.url[:20]
            else None
        ),
    )
    yield page
    context.close()
    assert not wrong
