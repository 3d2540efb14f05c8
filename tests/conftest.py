"""No test fails by chance, but for those that say how rarely; and records that many tests use.

A test's noise comes from a seed of its own, which its name gives. A test that is about the noise
itself is marked ``@pytest.mark.chance(rate)``: its noise is fresh, and ``rate`` is the probability
with which it fails though the program is right. All the rates add up to less than ``MAX_CHANCE``.
``pytest --chance 100`` repeats these tests and runs no others; ``pytest --noise-seed 7`` gives the
others other noise.
"""

import os
import shutil
import tempfile
import zlib
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jax
import jaxtyping
import numpy as np
import pytest
from hypothesis import settings
from numpy.typing import NDArray

# The tests of these rooms switch the check of shapes on; others pass wrong types (see `checked`).
CHECKED = ("geometry", "models", "neural")
_CHECKER = "beartype.beartype(conf=beartype.BeartypeConf(is_pep484_tower=True))"
jaxtyping.install_import_hook([f"snhkit.{room}" for room in CHECKED], _CHECKER)
jaxtyping.config.update("jaxtyping_disable", True)

from snhkit.geometry import Points, Region  # noqa: E402
from snhkit.privacy import SystemEntropy  # noqa: E402

MAX_CHANCE = 1e-5
HALF_WRITTEN = "Error reading persistent compilation cache"

# A busy machine is no failure, and what is tried is the same in every run. To try other examples:
# pytest --hypothesis-profile=explore
settings.register_profile("snhkit", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None)
settings.load_profile("snhkit")


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("noise")
    group.addoption(
        "--chance", type=int, metavar="N", help="run the tests marked chance, each N times"
    )
    group.addoption(
        "--noise-seed", type=int, default=0, metavar="SEED", help="other noise for the other tests"
    )


def pytest_configure(config: pytest.Config) -> None:
    # Registered here, the hooks are called for the examples in docstrings as well.
    noise = Noise(config)
    config.pluginmanager.register(noise, "noise")
    fresh = SystemEntropy.words
    SystemEntropy.words = lambda self, count: noise.words(count, fresh)
    config.add_cleanup(lambda: setattr(SystemEntropy, "words", fresh))
    raise_rank_promotion(config)
    share_compiled_programs(config)


def raise_rank_promotion(config: pytest.Config) -> None:
    """Arrays of different ranks do not combine: not here, and not in kernels and commands."""
    environment = pytest.MonkeyPatch()
    environment.setenv("JAX_NUMPY_RANK_PROMOTION", "raise")
    config.add_cleanup(environment.undo)
    jax.config.update("jax_numpy_rank_promotion", "raise")


def share_compiled_programs(config: pytest.Config) -> None:
    """What one process of this run has compiled, no other compiles: workers, kernels, commands."""
    if "JAX_COMPILATION_CACHE_DIR" not in os.environ:
        folder = tempfile.TemporaryDirectory(prefix="snhkit-compiled-", ignore_cleanup_errors=True)
        environment = pytest.MonkeyPatch()
        environment.setenv("JAX_COMPILATION_CACHE_DIR", folder.name)
        environment.setenv("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
        # A program that another process is just writing is compiled again, without a word.
        environment.setenv("PYTHONWARNINGS", f"ignore:{HALF_WRITTEN}", prepend=",")
        config.add_cleanup(environment.undo)
        config.add_cleanup(folder.cleanup)
    config.addinivalue_line("filterwarnings", f"ignore:{HALF_WRITTEN}")
    jax.config.update("jax_compilation_cache_dir", os.environ["JAX_COMPILATION_CACHE_DIR"])
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)


class Noise:
    """Gives every test and every shared fixture its own repeatable noise, or fresh noise."""

    def __init__(self, config: pytest.Config) -> None:
        self.seed: Any = config.getoption("noise_seed")
        self.repeats = config.getoption("chance")
        self.bits: np.random.PCG64 | None = None
        self.drawn_fresh = 0

    def words(self, count: int, fresh: Any) -> NDArray[np.uint64]:
        if self.bits is not None:
            return self.bits.random_raw(count)
        self.drawn_fresh += count
        return fresh(SystemEntropy(), count)

    @contextmanager
    def seeded(self, name: str) -> Iterator[None]:
        before = self.bits
        self.bits = np.random.PCG64([self.seed, zlib.crc32(name.encode())])
        try:
            yield
        finally:
            self.bits = before

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        self.drawn_fresh = 0
        if item.get_closest_marker("chance"):
            return (yield)
        with self.seeded(item.nodeid):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef, request: pytest.FixtureRequest
    ) -> Generator[None, Any, Any]:
        """What tests share is the same whichever of them is run first."""
        if fixturedef.scope == "function":
            return (yield)
        name = f"{fixturedef.baseid}::{fixturedef.argname}[{getattr(request, 'param_index', 0)}]"
        with self.seeded(name):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, None, None]:
        yield
        if item.get_closest_marker("chance") and not self.drawn_fresh:
            pytest.fail("is marked chance, but drew no noise")

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        if self.repeats and metafunc.definition.get_closest_marker("chance"):
            metafunc.fixturenames.append("_repeat")
            metafunc.parametrize("_repeat", range(self.repeats))

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        marked = [(item, mark) for item in items if (mark := item.get_closest_marker("chance"))]
        rates = [mark.args[0] for _, mark in marked]
        if any(not 0 < rate < 1 for rate in rates) or sum(rates) / (self.repeats or 1) > MAX_CHANCE:
            told = "".join(f"\n{mark.args[0]:g} {item.nodeid}" for item, mark in marked)
            raise pytest.UsageError(f"all chances must add up to less than {MAX_CHANCE}:{told}")
        if self.repeats:
            kept = [item for item, _ in marked]
            config.hook.pytest_deselected(items=[item for item in items if item not in set(kept)])
            items[:] = kept


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """All tests are dealt out to the cores, four at most; some of them stay in this process."""
    every = config.args_source is pytest.Config.ArgsSource.TESTPATHS
    return min(os.cpu_count() or 1, 4) if every else 0


@pytest.fixture(scope="module", autouse=True)
def checked(request: pytest.FixtureRequest) -> Iterator[None]:
    """Check the shapes in signatures, in the tests of the rooms whose functions take arrays."""
    room = request.path.relative_to(Path(__file__).parent).parts[0]
    jaxtyping.config.update("jaxtyping_disable", room not in CHECKED)
    yield
    jaxtyping.config.update("jaxtyping_disable", True)


@pytest.fixture
def unchecked(checked: None) -> Iterator[None]:
    """Let wrong types and shapes through, for tests of how they are refused."""
    before = jaxtyping.config.jaxtyping_disable
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", before)


@pytest.fixture(scope="session")
def city() -> Region:
    return Region.around(lat=45, lon=7, side_m=400)


@pytest.fixture(scope="session")
def records(city: Region) -> Points:
    """300 records of 40 people, two thirds of them around two places."""
    rng = np.random.default_rng(3)
    near = np.repeat([[100, 130], [310, 290]], 100, axis=0) + rng.normal(0, 20, (200, 2))
    xy = np.concatenate([np.clip(near, 0, 399), rng.uniform(0, 400, (100, 2))])
    return Points(city, xy, rng.integers(40, size=300))


@pytest.fixture(scope="module")
def hasty_compiler() -> Iterator[None]:
    """For programs that run for milliseconds: compiled in a third of the time, not to be quick.

    Not for the prior: it runs long, and what is compiled stays so for all tests that follow.
    """
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)


@pytest.fixture(scope="module")
def chromium() -> Iterator:
    """A real browser that reaches this machine only, from SNHKIT_CHROMIUM or the path.

    Without one, a skip, but a failure under CI.
    """
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
