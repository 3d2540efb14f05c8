"""Release files of every kind, changed at random, load or end in ReleaseFileError."""

import contextlib
import json
import tempfile
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load as parse
from safetensors.numpy import save

from snhkit import load
from snhkit.errors import ReleaseFileError
from snhkit.geometry import Grid, Partition, RangeQueries, Region
from snhkit.models import BlockNoise, GridModel, Model, PartitionModel
from snhkit.models.axis_noise import AxisNoise
from snhkit.models.cell_noise import CellNoise
from snhkit.models.packed_model import PackedGridModel
from snhkit.privacy import PrivacyUnit, Spend
from snhkit.release import Release

CITY = Region.around(lat=45, lon=7, side_m=400)
GRID = Grid(CITY, 2)
VALUES = np.array([[1, -2], [3, 4]])
HALVES = Partition(CITY, [0, 200], [0, 0], [200, 400], [400, 400])
MODELS: dict[str, Model] = {
    "grid": GridModel(GRID, VALUES),
    "block noise": GridModel(GRID, VALUES, BlockNoise.consistent([1, 2], [1, 1], [2, 3])),
    "axis noise": GridModel(GRID, VALUES, AxisNoise(GRID, np.eye(2))),
    "partition": PartitionModel(HALVES, np.array([8.0, 2]), CellNoise(2.0, np.array([[-0.5]]))),
    "denoised": PackedGridModel.of(CITY, VALUES.clip(0).astype(float), 2.0, 6),
}


def boxes(region: Region) -> RangeQueries:
    side = region.side_m
    return RangeQueries(region, [0, side / 8], [0, side / 8], [side, side / 4], [side, side / 3])


def parts(name: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    paid = (
        Spend(Fraction(1, 5), "n"),
        Spend(Fraction(3, 10), "counts", delta=Fraction(1, 9)),
    )
    unit = PrivacyUnit("user", 3)
    release = Release("Test", {"a": [1, "b"]}, Fraction(1, 2), unit, 6, True, paid, MODELS[name])
    data = release.to_bytes()
    length = int.from_bytes(data[:8], "little")
    return json.loads(json.loads(data[8 : 8 + length])["__metadata__"]["snhkit"]), parse(data)


def places(value: Any, path: tuple = ()) -> list[tuple]:
    """Paths to all values inside JSON values."""
    found = [path] if path else []
    inside = value.items() if isinstance(value, dict) else ()
    for key, part in enumerate(value) if isinstance(value, list) else inside:
        found += places(part, (*path, key))
    return found


JSON = st.recursive(
    st.sampled_from([None, True, False, "", "0", "1/0", "-1", "\ud800", "grid", "nan"])
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.text(max_size=5)
    | st.builds(list)
    | st.builds(dict),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=4,
)


@st.composite
def changed(draw: st.DrawFn, name: str) -> bytes:
    """A file of which a few values are removed, replaced, or given to another place."""
    header, arrays = parts(name)
    for _ in range(draw(st.integers(1, 3))):
        *way, key = draw(st.sampled_from(places(header)))
        holder = header
        for step in way:
            holder = holder[step]
        if draw(st.booleans()):
            other = json.dumps(header[draw(st.sampled_from(sorted(header)))])
            holder[key] = draw(JSON) if draw(st.booleans()) else json.loads(other)
        else:
            del holder[key]
        header = json.loads(json.dumps(header))
    if draw(st.integers(0, 3)) == 0:
        which = draw(st.sampled_from(sorted(arrays)))
        shape = draw(st.sampled_from([(), (0,), (1,), (2, 2), (3, 3), (2, 4), (1, 1), (0, 0)]))
        kind = draw(st.sampled_from(["f2", "f4", "f8", "i4", "i8", "u1"]))
        fill = draw(st.sampled_from([0, 1, 100]))
        arrays[which] = np.full(shape, fill, kind)
    return save(arrays, metadata={"snhkit": json.dumps(header)})


@pytest.mark.parametrize("name", MODELS)
@settings(max_examples=200)
@given(st.data())
def test_whatever_a_header_says_it_loads_or_is_refused(name, data):
    content = data.draw(changed(name))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "changed.snh"
        path.write_bytes(content)
        with contextlib.suppress(ReleaseFileError):
            release = load(path)
            assert release.replayable in (True, False)
            assert release.epsilon == sum(spend.epsilon for spend in release.spends)
            assert release.method.strip()
            repr(release)
            assert np.isfinite(release.answer(boxes(release.region))).all()
            release.standard_error(boxes(release.region))
            release.to_bytes()


@pytest.mark.parametrize("name", MODELS)
def test_unchanged_files_load(name, tmp_path):
    header, arrays = parts(name)
    (tmp_path / "a.snh").write_bytes(save(arrays, metadata={"snhkit": json.dumps(header)}))
    assert {"format": 1, **load(tmp_path / "a.snh").description()} == header
