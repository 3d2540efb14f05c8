"""The noise of tests, and fixtures that many tests use.

The noise of a test is seeded with the name of the test, so no test fails by chance. The exceptions
are tests of the noise itself, marked ``@pytest.mark.chance(rate)``. Their noise is fresh, and
``rate`` is the probability with which a test fails although the program is right. All rates add up
to less than ``MAX_CHANCE``. ``pytest --chance 100`` runs each of these tests 100 times, and no
others. ``pytest --noise-seed 7`` gives other noise to all tests without the mark.
"""

import gc
import json
import os
import shutil
import sys
import tempfile
import warnings
import zlib
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import jax
import jaxtyping
import numpy as np
import pytest
from hypothesis import settings
from numpy.typing import NDArray
from safetensors.numpy import load as parse
from safetensors.numpy import save

# In the tests of these packages, shapes in signatures are checked (see `checked`); other tests pass
# wrong types on purpose.
CHECKED = ("geometry", "models", "neural")
_CHECKER = "beartype.beartype(conf=beartype.BeartypeConf(is_pep484_tower=True))"
jaxtyping.install_import_hook([f"snhkit.{room}" for room in CHECKED], _CHECKER)
jaxtyping.config.update("jaxtyping_disable", True)

from snhkit.geometry import Points, Region  # noqa: E402
from snhkit.privacy import SystemEntropy  # noqa: E402

collect_ignore = ["without_jax.py", "without_posix.py"]
"""Importing it takes functions away from the process, so no examples are looked for in it."""

MAX_CHANCE = 1e-5
HALF_WRITTEN = "Error reading persistent compilation cache"
MAX_COMPILED_BYTES = 2**28

# Slow examples do not fail, and every run tries the same examples. To try others:
# pytest --hypothesis-profile=explore
settings.register_profile("snhkit", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None)
settings.load_profile("snhkit")


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("noise")
    group.addoption(
        "--chance", type=int, metavar="N", help="run only the tests marked chance, each N times"
    )
    group.addoption(
        "--noise-seed", type=int, default=0, metavar="SEED", help="seed of the noise of other tests"
    )


def pytest_configure(config: pytest.Config) -> None:
    # Hooks that are registered here are also called for the examples in docstrings.
    noise = Noise(config)
    config.pluginmanager.register(noise, "noise")
    fresh = SystemEntropy.words
    SystemEntropy.words = lambda self, count: noise.words(count, fresh)
    config.add_cleanup(lambda: setattr(SystemEntropy, "words", fresh))
    raise_rank_promotion(config)
    share_compiled_programs(config)
    environment = pytest.MonkeyPatch()  # for servers that live longer than a test
    environment.setenv("SNHKIT_LEDGERS", os.devnull)
    config.add_cleanup(environment.undo)


def raise_rank_promotion(config: pytest.Config) -> None:
    """Make JAX raise an error if arrays of different ranks are combined, in all processes."""
    environment = pytest.MonkeyPatch()
    environment.setenv("JAX_NUMPY_RANK_PROMOTION", "raise")
    config.add_cleanup(environment.undo)
    jax.config.update("jax_numpy_rank_promotion", "raise")


def share_compiled_programs(config: pytest.Config) -> None:
    """Share JAX's compiled programs among all processes: workers, kernels, commands.

    They are also kept for later runs, in pytest's cache; ``--cache-clear`` removes them. Where
    Python is told to keep no bytecode, the processes that tests start keep it for this run.
    """
    folder = tempfile.TemporaryDirectory(prefix="snhkit-tests-", ignore_cleanup_errors=True)
    config.add_cleanup(folder.cleanup)
    environment = pytest.MonkeyPatch()
    config.add_cleanup(environment.undo)
    if "JAX_COMPILATION_CACHE_DIR" not in os.environ:
        environment.setenv("JAX_COMPILATION_CACHE_DIR", str(kept_programs(config) or folder.name))
        environment.setenv("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
        # A program that another process is still writing is compiled again, without a warning.
        environment.setenv("PYTHONWARNINGS", f"ignore:{HALF_WRITTEN}", prepend=",")
    config.addinivalue_line("filterwarnings", f"ignore:{HALF_WRITTEN}")
    jax.config.update("jax_compilation_cache_dir", os.environ["JAX_COMPILATION_CACHE_DIR"])
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
    if sys.dont_write_bytecode and not config.getoption("numprocesses", None):
        environment.setenv("PYTHONDONTWRITEBYTECODE", "")
        environment.setenv("PYTHONPYCACHEPREFIX", str(Path(folder.name, "bytecode")))


def kept_programs(config: pytest.Config) -> Path | None:
    """Return the folder of the programs that earlier runs compiled, or None if there is none."""
    cache = getattr(config, "cache", None)
    if cache is None or not os.access(config.rootpath, os.W_OK):
        return None
    folder = cache.mkdir("compiled")
    if sum(path.stat().st_size for path in folder.iterdir()) > MAX_COMPILED_BYTES:
        shutil.rmtree(folder)
    return cache.mkdir("compiled")


class Noise:
    """The plugin that seeds the noise of every test and shared fixture, or leaves it fresh."""

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
        """Seed a shared fixture with its own name, so that it does not depend on the first test."""
        if fixturedef.scope == "function":
            return (yield)
        name = f"{fixturedef.baseid}::{fixturedef.argname}[{getattr(request, 'param_index', 0)}]"
        with self.seeded(name):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, None, None]:
        yield
        if item.get_closest_marker("chance") and not self.drawn_fresh:
            pytest.fail("the test is marked chance, but drew no fresh noise; remove the mark")

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
            raise pytest.UsageError(
                f"each rate of a chance mark must be between 0 and 1, and all must add up to at "
                f"most {MAX_CHANCE}:{told}"
            )
        if self.repeats:
            kept = [item for item, _ in marked]
            config.hook.pytest_deselected(items=[item for item in items if item not in set(kept)])
            items[:] = kept


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Ignore that Dask's own sockets and loops are closed late, in modules that use a cluster."""
    late = {item.path for item in items if "client" in getattr(item, "fixturenames", ())}
    for item in items:
        if item.path in late:
            for name in (
                "ResourceWarning",
                "DeprecationWarning",
                "pytest.PytestUnraisableExceptionWarning",
            ):
                item.add_marker(pytest.mark.filterwarnings(f"ignore::{name}"))


def pytest_collection_finish() -> None:
    """Leave what is there already out of each later garbage collection, a tenth of all time."""
    gc.collect()
    gc.freeze()


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Return the number of worker processes: up to 4 for the whole suite, 0 for chosen tests."""
    every = config.args_source is pytest.Config.ArgsSource.TESTPATHS
    return min(os.cpu_count() or 1, 4) if every else 0


@pytest.fixture(scope="module", autouse=True)
def checked(request: pytest.FixtureRequest) -> Iterator[None]:
    """Check shapes in signatures during the tests of the packages in ``CHECKED``."""
    room = request.path.relative_to(Path(__file__).parent).parts[0]
    jaxtyping.config.update("jaxtyping_disable", room not in CHECKED)
    yield
    jaxtyping.config.update("jaxtyping_disable", True)


@pytest.fixture(autouse=True)
def ledgers(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the path of the list of the account's ledgers, which is a new one for each test."""
    path = tmp_path_factory.getbasetemp() / f"ledgers-{uuid4().hex}" / "list"
    monkeypatch.setenv("SNHKIT_LEDGERS", str(path))
    return path


@pytest.fixture
def coarse_scans(monkeypatch: pytest.MonkeyPatch) -> None:
    """Count scanned files in a fine grid of 64 by 64 cells instead of 4,096 by 4,096."""
    monkeypatch.setattr("snhkit.data.counting.exact.FINE_DEPTH", 6)
    monkeypatch.setattr("snhkit.data.counting.exact.ExactCounts.max_depth", 6)


@pytest.fixture
def unchecked(checked: None) -> Iterator[None]:
    """Switch the check of shapes off, for tests of the errors that wrong arguments raise."""
    before = jaxtyping.config.jaxtyping_disable
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", before)


@pytest.fixture(scope="session")
def city() -> Region:
    return Region.around(lat=45, lon=7, side_m=400)


@pytest.fixture(scope="session")
def records(city: Region) -> Points:
    """Return 300 records of 40 users, two thirds of the records around two positions."""
    rng = np.random.default_rng(3)
    near = np.repeat([[100, 130], [310, 290]], 100, axis=0) + rng.normal(0, 20, (200, 2))
    xy = np.concatenate([np.clip(near, 0, 399), rng.uniform(0, 400, (100, 2))])
    return Points(city, xy, rng.integers(40, size=300))


@pytest.fixture(scope="session")
def released() -> Callable[..., Any]:
    """Return the function that releases records by a method, with n public and a large budget."""
    from snhkit.dataset import PrivateDataset

    def release(records: Points, builder: Any, epsilon: Any = 1, **options: Any) -> Any:
        asked = {name: options.pop(name) for name in ("seed", "public") if name in options}
        terms = {"budget": 4 * 10**18, "unit": "record", "n_public": True} | options
        return PrivateDataset(records, **terms).release(builder, epsilon=epsilon, **asked)

    return release


@pytest.fixture
def altered(tmp_path: Path) -> Callable[..., Path]:
    """Return the function that writes the file bad.snh, a release some of whose parts are others.

    A setting, a field of the header or an array is replaced; it is missing if it is in ``drop``.
    """

    def write(
        content: bytes, settings: Any = None, arrays: Any = None, drop: Any = (), **header: Any
    ) -> Path:
        size = int.from_bytes(content[:8], "little")
        about = json.loads(json.loads(content[8 : 8 + size])["__metadata__"]["snhkit"]) | header
        told, tensors = about["settings"] | (settings or {}), parse(content) | (arrays or {})
        about["settings"] = {name: one for name, one in told.items() if name not in drop}
        kept = {name: one for name, one in tensors.items() if name not in drop}
        path = tmp_path / "bad.snh"
        path.write_bytes(save(kept, metadata={"snhkit": json.dumps(about)}))
        return path

    return write


@pytest.fixture(scope="module")
def hasty_compiler() -> Iterator[None]:
    """Compile JAX programs in a third of the time, but with slower results.

    This is for programs that run for milliseconds. Do not use it for the prior, which runs longer;
    compiled programs are also used by all later tests.
    """
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)


@pytest.fixture(scope="module")
def client(request: pytest.FixtureRequest) -> Iterator:
    """Return a client of two Dask workers, or of those that the module's ``CLUSTER`` describes."""
    distributed = pytest.importorskip("distributed")
    how = {"n_workers": 2} | getattr(request.module, "CLUSTER", {})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with (
            distributed.LocalCluster(
                **how, threads_per_worker=1, dashboard_address=None, silence_logs=50
            ) as cluster,
            distributed.Client(cluster) as client,
        ):
            yield client


@pytest.fixture(scope="module")
def chromium() -> Iterator:
    """Start Chromium, from SNHKIT_CHROMIUM or the PATH, with access to this machine only.

    Without Chromium, the test is skipped, or fails on a CI server.
    """
    found = os.environ.get("SNHKIT_CHROMIUM") or shutil.which("chromium")
    if not found:
        why = "no Chromium: install Debian's chromium, or set SNHKIT_CHROMIUM to its path"
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
