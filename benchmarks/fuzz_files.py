"""Release files of every kind, changed at random: python benchmarks/fuzz_files.py [--help].

Changes bytes, values of the description or arrays of files, and adds small files that describe
large objects. Each file must either be refused with a ReleaseFileError, or load, answer boxes and
be written again. Prints, as Markdown, how many files were refused and loaded, and the memory used.
"""

import argparse
import copy
import json
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import jax
import numpy as np
import shapely
from numpy.typing import NDArray
from safetensors.numpy import load as parse
from safetensors.numpy import save
from tqdm.auto import trange

import snhkit as snh
from snhkit.errors import ReleaseFileError
from snhkit.geometry import Grid, Partition
from snhkit.models import BlockNoise, GridModel, Model, PackedGridModel, PartitionModel
from snhkit.models.packed_model import BAND, PackedCounts
from snhkit.models.variance import AxisNoise, CellNoise
from snhkit.neural import MLP
from snhkit.neural.dpsgd import NetworkModel
from snhkit.neural.networks.feature_grid import FeatureGrid
from snhkit.neural.networks.model import SNHModel
from snhkit.privacy import PrivacyUnit, Spend
from snhkit.release import Release
from snhkit.release.polygon_model import PolygonModel, PolygonPartition

CITY = snh.Region.around(lat=45, lon=7, side_m=400)
GRID, VALUES = Grid(CITY, 2), np.array([[1, -2], [3, 4]])
HALVES = Partition(CITY, [0, 200], [0, 0], [200, 400], [400, 400])
DISTRICTS = np.array([shapely.box(0, 0, 100, 200), shapely.box(100, 0, 200, 200)])
SIDES_M = (50.0, 100.0)


def parameters(network: MLP | FeatureGrid, inputs: int, k: int | None) -> dict[str, NDArray]:
    """Return the initial parameters of a network as arrays; with ``k``, those of k networks."""
    drawn = {n: np.asarray(a) for n, a in network.init(jax.random.key(0), inputs).items()}
    return drawn if k is None else {name: np.stack([array] * k) for name, array in drawn.items()}


def snh_model(network: MLP | FeatureGrid) -> SNHModel:
    """Return k = 2 untrained networks with blocks of 100 m."""
    return SNHModel(
        CITY, 25.0, (60.0, 90.0), SIDES_M, 3.0, "area", network, parameters(network, 2, k=2),
        np.ones((4 * network.has_map,) * 2, np.float16), np.ones((4, 4), np.float32),
    )  # fmt: skip


def models() -> dict[str, Model]:
    """Return a small model of every kind that a file can hold."""
    network = MLP(depth=3, width=4, span=2.0)
    return {
        "grid": GridModel(GRID, VALUES),
        "grid, blocks": GridModel(GRID, VALUES, BlockNoise.consistent([1, 2], [1, 1], [2, 3])),
        "grid, axes": GridModel(GRID, VALUES, AxisNoise(GRID, np.eye(2))),
        "partition": PartitionModel(HALVES, np.array([8.0, 2]), CellNoise(2.0, np.eye(1) / -2)),
        "tessellation": PolygonModel(
            PolygonPartition(CITY, ["west", "east"], DISTRICTS), np.array([4, 8, 2]), 2.0
        ),
        "denoised": PackedGridModel.of(CITY, VALUES.clip(0).astype(float), 2.0, 6),
        "kind snh, encoder": snh_model(FeatureGrid(levels=(2,), hidden=3)),
        "kind snh, paper's network": snh_model(network),
        "dpsgd": NetworkModel(CITY, SIDES_M, 3.0, network, parameters(network, 3, k=None)),
    }


def parts(model: Model) -> tuple[dict[str, Any], dict[str, NDArray]]:
    """Return the description and the arrays of a release of a model."""
    spends = (Spend(Fraction(1, 5), "n"), Spend(Fraction(3, 10), "counts", delta=Fraction(1, 9)))
    release = Release(
        "Test", {"a": [1, "b"]}, Fraction(1, 2), PrivacyUnit("user", 3), 6, True, spends, model
    )
    data = release.to_bytes()
    length = int.from_bytes(data[:8], "little")
    return json.loads(json.loads(data[8 : 8 + length])["__metadata__"]["snhkit"]), parse(data)


def encoded(header: Any, arrays: dict[str, NDArray]) -> bytes:
    """Return the bytes of a release file with the given description, valid or not."""
    return save(
        {name: np.ascontiguousarray(a) for name, a in arrays.items()},
        metadata={"snhkit": json.dumps(header)},
    )


def changed(
    header: dict[str, Any], arrays: dict[str, NDArray], draw: random.Random
) -> tuple[str, bytes]:
    """Return the kind of a random change, and the bytes of the changed file."""
    header, arrays = copy.deepcopy(header), dict(arrays)
    kind = draw.choice(["bytes", "description", "description", "arrays", "both"])
    if kind in ("description", "both"):
        for _ in range(draw.choice([1, 1, 2, 3])):
            _change_value(header, draw)
    if kind in ("arrays", "both"):
        _change_array(arrays, draw)
    data = encoded(header, arrays)
    if kind == "bytes":
        some = bytearray(data)
        for _ in range(draw.randint(1, 4)):
            some[draw.randrange(len(some))] = draw.randrange(256)
        if draw.random() < 0.3:
            del some[draw.randrange(len(some)) :]
        data = bytes(some)
    return kind, data


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the container and the key of every value inside JSON values."""
    inside = value.items() if isinstance(value, dict) else enumerate(value)
    for key, part in inside:
        yield value, key
        if isinstance(part, (dict, list)):
            yield from _places(part)


def _change_value(header: dict[str, Any], draw: random.Random) -> None:
    places = list(_places(header))
    if not places:
        return
    holder, key = draw.choice(places)
    match draw.randrange(5):
        case 0:
            del holder[key]
        case 1:
            other, place = draw.choice(places)
            holder[key] = copy.deepcopy(other[place])
        case 2 if isinstance(holder[key], (int, float)):
            holder[key] = draw.choice([-1, 0, 0.5, 2, 10, 1e3, 1e30, -holder[key]])
        case 3 if isinstance(holder[key], list):
            holder[key] = holder[key] * draw.choice([0, 2, 70])
        case _:
            holder[key] = copy.deepcopy(draw.choice(_ODD))


_ODD: list[Any] = [
    None, True, False, "", "0", "1/0", "-1", "\ud800", "grid", "snh", "nan", "x" * 20_000, 0, 1, -1,
    2**31, 2**63, 2**70, 10**400, 0.1, 1e-300, 1e300, float("nan"), float("inf"), [], {}, [[]],
    [None], {"a": {}}, ["1", "x", "parallel"], [[1, 2], [3, 4]],
]  # fmt: skip


def _change_array(arrays: dict[str, NDArray], draw: random.Random) -> None:
    name = draw.choice([*arrays, "more"])
    if draw.random() < 0.2:
        arrays.pop(name, None)
        return
    shape = draw.choice([(), (0,), (1,), (2,), (2, 2), (3, 3), (2, 4), (1, 1), (0, 0), (2, 2, 2)])
    dtype = draw.choice(["f2", "f4", "f8", "i4", "i8", "u1", "u8", "?"])
    if name in arrays and draw.random() < 0.5:
        shape, dtype = arrays[name].shape, arrays[name].dtype
    fill = draw.choice([0, 1, 100, 60_000, float("inf"), float("nan")])
    with np.errstate(all="ignore"):
        arrays[name] = np.full(shape, fill).astype(dtype)


def write_bombs(folder: Path) -> None:
    """Write the small files that describe large objects."""
    for name, data in bombs():
        (folder / name).write_bytes(data)


def bombs() -> Iterator[tuple[str, bytes]]:
    """Yield the name and the bytes of each small file that describes a large object."""
    header, arrays = parts(models()["denoised"])
    for many in (100_000, 3_000_000):
        yield f"{many:,} lists", encoded(header | {"hyperparameters": {"a": [[]] * many}}, arrays)
    yield "50,000 arrays", encoded(header, {str(i): np.zeros(0) for i in range(50_000)})
    wide = MLP(depth=2, width=4096, span=2.0)
    yield "a layer of 4,096 units", encoded(*parts(snh_model(wide)))
    header, arrays = parts(models()["kind snh, paper's network"])
    header["settings"] |= {"sizes_m": [0.05, 0.05], "query_sizes_m": [0.05, 0.05]}
    yield "100 million tiles", encoded(header, arrays)
    empty = (np.zeros((BAND, 8192), np.uint8) for _ in range(8192 // BAND))
    cells = PackedGridModel(PackedCounts.of_bands(Grid(CITY, 8192), 2**40, empty), 1.0)
    yield "67 million cells of 8 bytes", encoded(*parts(cells))


def tried(data: bytes, path: Path) -> str:
    """Return "refused" or "loaded" after loading a file, answering boxes and saving it again."""
    path.write_bytes(data)
    try:
        release = snh.load(path).total()
    except ReleaseFileError:
        return "refused"
    assert isinstance(release.replayable, bool)
    assert release.method.strip()
    assert release.epsilon == sum(spend.epsilon for spend in release.spends)
    repr(release)
    boxes = questions(release.region)
    assert np.isfinite(release.answer(boxes)).all()
    release.noise_sd(boxes)
    release.to_bytes()
    return "loaded"


def questions(region: snh.Region) -> snh.RangeQueries:
    """Return 2,000 boxes of all sizes, among them the whole region and a thin strip."""
    side = region.side_m
    some = snh.RangeQueries.sample(region, 1_996, (side / 9, side / 9))
    x = np.array([0, side / 8, 0.0, side / 2e4])
    return snh.RangeQueries(
        region,
        np.concatenate([some.x, x]),
        np.concatenate([some.y, x]),
        np.concatenate([some.width, [side, side / 4, side, side * 0.9999]]),
        np.concatenate([some.height, [side, side / 3, side / 1e5, side * 0.9999]]),
    )


def megabytes() -> float:
    """Return the peak memory of this process so far, in megabytes."""
    import resource  # which Windows lacks; the tests that use this file do not need it

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / 2**20 if sys.platform == "darwin" else most / 2**10


def main() -> None:
    """Read the options, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    draw, told = random.Random(given.seed), {n: parts(m) for n, m in models().items()}  # noqa: S311
    found: dict[str, Counter[str]] = {name: Counter() for name in told}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "changed.snh"
        # The files are made in another process, because making them takes memory too.
        with ProcessPoolExecutor(1, get_context("spawn")) as maker:
            maker.submit(write_bombs, Path(folder)).result()
        small = sorted(Path(folder).iterdir())
        assert all(tried(encoded(*parts), path) == "loaded" for parts in told.values())
        start = megabytes()
        print("| small file | KiB | what happened | MB more than before |\n|---|---|---|---|")
        for bomb in small:
            before, data = megabytes(), bomb.read_bytes()
            print(f"| {bomb.name} | {len(data) / 1024:,.0f} | {tried(data, path)} |", end="")
            print(f" {megabytes() - before:.0f} |", flush=True)
        for number in trange(given.files, desc="files", disable=None):
            name = list(told)[number % len(told)]
            found[name][tried(changed(*told[name], draw)[1], path)] += 1
            if number % 200 == 0:
                jax.clear_caches()  # a program is compiled for each different network
    print("\n| kind | files | refused | loaded |\n|---|---|---|---|")
    for name, counts in found.items():
        print(f"| {name} | {counts.total():,} | {counts['refused']:,} | {counts['loaded']:,} |")
    print(
        f"\nOf {given.files:,} changed files, none raised another error. Memory grew by "
        f"{megabytes() - start:.0f} MB in the whole test, small files included."
    )


if __name__ == "__main__":
    main()
