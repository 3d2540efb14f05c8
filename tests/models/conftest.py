"""Shapes in signatures are checked in these tests; ``unchecked`` lets wrong types through."""

from collections.abc import Iterator

import jaxtyping
import pytest


@pytest.fixture(scope="module", autouse=True)
def checked() -> Iterator[None]:
    jaxtyping.config.update("jaxtyping_disable", False)
    yield
    jaxtyping.config.update("jaxtyping_disable", True)


@pytest.fixture
def unchecked() -> Iterator[None]:
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)
