import dataclasses
from fractions import Fraction

import numpy as np
import pytest

from snhkit import load
from snhkit.errors import ReleaseFileError
from snhkit.geometry import RangeQueries, Region
from snhkit.neural import MLP, FeatureGrid
from snhkit.neural.networks import model
from snhkit.neural.networks.model import SNHModel
from snhkit.privacy import PrivacyUnit, Spend
from snhkit.release import Release

CITY = Region.around(lat=45, lon=7, side_m=400)
PAID = (Spend(Fraction(1), "counts of all cells", "parallel"),)
NETWORK = MLP(depth=2, width=1, span=2)
GRID = FeatureGrid((1,), features=1, hidden=1)
SIZES = (30.0, 50.0, 80.0)


# sin(TINY x) / TINY is x to 1e-8.
TINY = 1e-4


def slopes(scaling="area"):
    """Network j answers 10 (j + 1) at the west edge, rising to 30 (j + 1) at the east edge."""
    times = np.arange(1.0, 4.0)
    params = {
        "w0": np.tile([[[TINY], [0.0]]], (3, 1, 1)),
        "b0": np.zeros((3, 1)),
        "w1": (10 * times / TINY)[:, None, None],
        "b1": (20 * times)[:, None],
    }
    return SNHModel(
        region=CITY, cell_m=20.0, query_sizes_m=SIZES, sizes_m=(20.0, 100.0), scale=2.0,
        scaling=scaling, network=NETWORK,
        params={name: a.astype(np.float32) for name, a in params.items()},
        map=np.zeros((0, 0), np.float16), blocks=np.full((4, 4), 7, np.float32),
    )  # fmt: skip


def told_sizes():
    """In equal parts from 20 to 100 m; network j answers j + 1 times 20 plus 10 times the share."""
    times = np.arange(1.0, 4.0)
    params = {
        "w0": np.tile([[[0.0], [0.0], [TINY]]], (3, 1, 1)),
        "b0": np.zeros((3, 1)),
        "w1": (5 * times / TINY)[:, None, None],
        "b1": (25 * times)[:, None],
    }
    sizes = (20 + 80 / 6, 60.0, 100 - 80 / 6)
    params = {name: a.astype(np.float32) for name, a in params.items()}
    return dataclasses.replace(slopes(), scaling="learned", params=params, query_sizes_m=sizes)


def mapped():
    """Counts of 10, 20, 30 and 40 in quarters of the region; network j adds a tenth of j."""
    params = {
        "grid0": np.zeros((3, 4, 1)),
        "w0": np.zeros((3, 1, 1)),
        "b0": np.full((3, 1), 30.0),
        "w1": (np.arange(3.0) / 300)[:, None, None],
    }
    params = {name: a.astype(np.float32) for name, a in params.items()}
    counts = np.array([[5, 10], [15, 20]], np.float16)
    blocks = np.repeat(np.repeat(counts * 2.0 / 4, 2, 0), 2, 1).astype(np.float32)
    return dataclasses.replace(slopes(), network=GRID, params=params, map=counts, blocks=blocks)


def squares(side, centres):
    return RangeQueries.squares(CITY, centres, side)


@pytest.mark.parametrize(
    ("side", "size"), [(20, 30), (30, 30), (39.9, 30), (40.1, 50), (64.9, 50), (65.1, 80), (99, 80)]
)
def test_a_square_is_answered_by_the_nearest_size_and_scaled(side, size):
    """At the centre, 20 times j + 1 times the scale 2, by hand."""
    centre = [[250, 150]]  # inside one block
    count = 2 * 22.5 * (SIZES.index(size) + 1)
    answer = slopes().answer(squares(side, centre))
    assert answer[0] == pytest.approx(count * (side / size) ** 2, rel=1e-5)
    linear = slopes("linear").answer(squares(side, centre))
    assert linear[0] == pytest.approx(count * side / size, rel=1e-5)


@pytest.mark.parametrize(
    ("side", "j", "share"),
    [
        (20, 0, 0),
        (30, 0, 0.375),
        (46, 0, 0.975),
        (47, 1, 0.0125),
        (60, 1, 0.5),
        (99, 2, 0.9625),
        (10, 0, 0),
    ],
)
def test_a_network_that_is_told_sizes_is_asked_for_the_square_itself(side, j, share):
    """A square of 10 m is asked for as one of 20 m."""
    model = told_sizes()
    count = 2 * (20 + 10 * share) * (j + 1)
    answer = model.answer(squares(side, [[250, 150]]))
    assert answer[0] == pytest.approx(count * (side / model.query_sizes_m[j]) ** 2, rel=1e-4)


def test_one_size_is_nothing_to_be_told():
    """From l to l: as if scaled by area."""
    parts = {name: a[:1] for name, a in slopes().params.items()}
    common = {"params": parts, "query_sizes_m": (30.0,), "sizes_m": (30.0, 30.0)}
    one, other = (dataclasses.replace(slopes(s), **common) for s in ("learned", "area"))
    boxes = RangeQueries.sample(CITY, 20, (10, 90), seed=3)
    assert (one.answer(boxes) == other.answer(boxes)).all()


def test_near_the_edge_it_asks_for_a_square_inside():
    """A square of 20 m at 0 is asked for as the middle of the outermost one of 30 m."""
    count = 2 * (10 + 20 * 15 / 400)
    answer = slopes().answer(RangeQueries(CITY, [0], [110], [20], [20]))
    assert answer[0] == pytest.approx(count * (20 / 30) ** 2, rel=1e-5)


@pytest.mark.parametrize(("side", "j"), [(20, 0), (45, 1), (80, 2)])
def test_a_square_is_the_maps_sum_over_it_and_what_the_network_adds(side, j):
    """Half of the square in a quarter of 40 records, half in one of 20, over 200 by 200 m."""
    boxes = RangeQueries(CITY, [200 - side / 2], [250], [side], [side])
    expected = (20 + 40) / 2 * side**2 / 200**2 * (1 + j / 10)
    assert mapped().answer(boxes)[0] == pytest.approx(expected, rel=1e-3)


def test_with_a_map_polygons_are_put_together_from_the_map():
    additive = mapped().additive()
    assert additive.values.tolist() == [[10, 20], [30, 40]]


def test_whole_blocks_are_added_up_as_they_are():
    assert slopes().answer(RangeQueries(CITY, [100], [0], [200], [300])).tolist() == [6 * 7]


def test_a_thin_box_is_a_row_of_tiles():
    """200 by 25 m: 8 squares of 25 m, each answered for 30 m."""
    answer = slopes().answer(RangeQueries(CITY, [50], [110], [200], [25]))
    middle = np.arange(62.5, 250, 25)
    expected = 2 * (10 + 20 * middle / 400) * (25 / 30) ** 2
    assert answer[0] == pytest.approx(expected.sum(), rel=1e-5)


@pytest.mark.parametrize("count", [255, 256, 257, 8_193])
def test_how_many_are_asked_at_once_does_not_matter(count, monkeypatch):
    boxes = RangeQueries.sample(CITY, count, (10, 90), seed=3)
    whole = slopes().answer(boxes)
    monkeypatch.setattr(model, "_TILES_A_CHUNK", 50)
    np.testing.assert_allclose(slopes().answer(boxes[-60:]), whole[-60:], rtol=1e-6)


class TestDistrust:
    """A file whose parts do not fit one another is refused, naming the file."""

    @pytest.fixture
    def file(self, altered):
        def write(*parts, model=None, **more):
            told = model or slopes()
            release = Release("SNH", {}, 1, PrivacyUnit("record"), 9, False, PAID, told)
            return altered(release.to_bytes(), *parts, **more)

        return write

    def test_the_file_itself_is_good(self, file):
        assert load(file()).model.network == NETWORK

    def test_l_may_be_u_for_many_networks(self, file):
        """Each of them has the same size; the file can be read again."""
        one_size = {"query_sizes_m": (30.0,) * 3, "sizes_m": (30.0, 30.0)}
        model = dataclasses.replace(slopes(), **one_size, blocks=np.ones((13, 13)))
        assert load(file(model=model)).model.query_sizes_m == (30, 30, 30)

    @pytest.mark.parametrize(
        "settings",
        [
            {"query_sizes_m": [30, 80, 50]},
            {"query_sizes_m": [30, 30, 80]},
            {"query_sizes_m": []},
            {"query_sizes_m": [30, 50]},
            {"query_sizes_m": [10, 50, 80]},
            {"query_sizes_m": [30, 50, 101]},
            {"query_sizes_m": [30, float("nan"), 80]},
            {"query_sizes_m": 30},
            {"sizes_m": [0, 100]},
            {"sizes_m": [20]},
            {"sizes_m": [20, 401]},
            {"sizes_m": [20, float("inf")]},
            {"cell_m": 0},
            {"cell_m": 1e-300},
            {"cell_m": float("nan")},
            {"scale": -1},
            {"scale": float("inf")},
            {"scaling": "cubic"},
            {"scaling": None},
            {"scaling": "learned"},
            {"network": {"name": "os.system"}},
            {"network": {"name": "mlp"}},
            {"network": {"name": ["mlp"]}},
            {"network": {}},
            {"network": None},
            {"network": {"name": "feature-grid", "command": "rm"}},
            {"network": {"name": "feature-grid", "levels": [4096] * 16, "cells": 4096}},
            {"network": {"name": "feature-grid", "levels": [4096] * 10**6, "cells": 4096}},
            {"network": {"name": "feature-grid", "levels": [2], "cells": 2, "features": 1}},
        ],
        ids=lambda settings: str(settings)[:60],
    )
    def test_settings(self, settings, file):
        with pytest.raises(ReleaseFileError, match=r"bad\.snh"):
            load(file(settings))

    @pytest.mark.parametrize(
        "arrays",
        [
            {"w0": np.zeros((3, 2, 2), np.float32)},
            {"w0": np.zeros((2, 2, 1), np.float32)},
            {"w0": np.zeros(6, np.float32)},
            {"w0": np.full((3, 2, 1), np.inf, np.float32)},
            {"w2": np.zeros((3, 1), np.float32)},
            {"map": np.zeros((2, 2), np.float32)},
            {"blocks": np.zeros((4, 5), np.float32)},
            {"blocks": np.zeros(16, np.float32)},
            {"blocks": np.zeros((0, 0), np.float32)},
            {"blocks": np.zeros((3, 3), np.float32)},
            {"blocks": np.zeros((5, 5), np.float32)},
        ],
        ids=lambda a: "-".join(f"{k}{v.shape}" for k, v in a.items()),
    )
    def test_arrays(self, arrays, file):
        with pytest.raises(ReleaseFileError, match=r"bad\.snh"):
            load(file(arrays=arrays))

    @pytest.mark.parametrize("name", ["map", "blocks", "w1"])
    def test_missing_arrays(self, name, file):
        with pytest.raises(ReleaseFileError, match=r"bad\.snh"):
            load(file(drop=(name,)))

    @pytest.mark.parametrize(
        ("settings", "arrays"),
        [
            ({"scaling": "area"}, {}),
            ({"sizes_m": [60, 60], "query_sizes_m": [60]}, {}),
            ({}, {"w0": np.zeros((3, 2, 1), np.float32)}),
        ],
        ids=str,
    )
    def test_what_does_not_fit_told_sizes(self, settings, arrays, file):
        assert load(file(model=told_sizes())).model.scaling == "learned"
        with pytest.raises(ReleaseFileError, match=r"bad\.snh"):
            load(file(settings, arrays, model=told_sizes()))

    @pytest.mark.parametrize(
        "model", [slopes(), told_sizes(), mapped()], ids=["slopes", "sizes", "map"]
    )
    def test_a_model_survives_its_file(self, model, file):
        again = load(file(model=model)).model
        for field in dataclasses.fields(SNHModel):
            one, other = getattr(model, field.name), getattr(again, field.name)
            if field.name == "params":
                assert one.keys() == other.keys()
                assert all((one[k] == other[k]).all() for k in one)
            elif field.name in ("blocks", "map"):
                assert (one == other).all()
            else:
                assert one == other


def test_a_card_says_when_polygons_are_not_counted_with_the_networks():
    assert "not with the networks" in slopes().remarks()["Polygons"]
    assert mapped().remarks() == {}
