import dataclasses
import json
from fractions import Fraction

import numpy as np
import pytest
from safetensors.numpy import load as parse
from safetensors.numpy import save

from snhkit import load
from snhkit.errors import ReleaseFileError
from snhkit.geometry import RangeQueries, Region
from snhkit.neural import FeatureGrid
from snhkit.neural.networks import model
from snhkit.neural.networks.model import SNHModel
from snhkit.privacy import PrivacyUnit, Spend
from snhkit.release import Release

CITY = Region.around(lat=45, lon=7, side_m=400)
PAID = (Spend(Fraction(1), "counts of all cells", "parallel"),)
NETWORK = FeatureGrid((1,), fine=2, features=1, hidden=1)
SIZES = (30.0, 50.0, 80.0)


def slopes(scaling="area"):
    """Network j answers 10 (j + 1) at the west edge, rising to 30 (j + 1) at the east edge."""
    rise = np.repeat([10.0, 20.0, 30.0], 3)
    fine = np.stack([rise * (j + 1) for j in range(3)])[..., None]
    zeros = {"grid0": (3, 4, 1), "w0": (3, 1, 1), "b0": (3, 1), "w1": (3, 1, 1)}
    params = {name: np.zeros(shape, np.float32) for name, shape in zeros.items()}
    params["fine"] = (fine + np.log(-np.expm1(-fine))).astype(np.float32)
    return SNHModel(
        region=CITY, cell_m=20.0, sizes_m=SIZES, bounds_m=(20.0, 100.0), scale=2.0,
        scaling=scaling, network=NETWORK, params=params, blocks=np.full((4, 4), 7, np.float32),
    )  # fmt: skip


def told_sizes():
    """As slopes(), but in equal parts from 20 to 100 m, each rising to 1.5 times its beginning."""
    model = slopes()
    rise = np.repeat([10.0, 20.0, 30.0], 3)
    fine = np.stack([np.outer(rise, (1, 1.5)) * (j + 1) for j in range(3)])
    params = model.params | {
        "fine": (fine + np.log(-np.expm1(-fine))).astype(np.float32),
        "w0": np.zeros((3, 2, 1), np.float32),
    }
    sizes = (20 + 80 / 6, 60.0, 100 - 80 / 6)
    return dataclasses.replace(model, scaling="learned", params=params, sizes_m=sizes)


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
    """Interpolated before softplus, which is flat to 1e-4 here; a square of 10 m as one of 20."""
    model = told_sizes()
    count = 2 * 22.5 * (j + 1) * (1 + 0.5 * share)
    answer = model.answer(squares(side, [[250, 150]]))
    assert answer[0] == pytest.approx(count * (side / model.sizes_m[j]) ** 2, rel=1e-4)


def test_told_sizes_near_the_edge_it_asks_for_the_square_itself():
    answer = told_sizes().answer(RangeQueries(CITY, [0], [110], [30], [30]))
    count = 2 * (10 + 20 * 15 / 400) * (1 + 0.5 * 0.375)
    assert answer[0] == pytest.approx(count * (30 / told_sizes().sizes_m[0]) ** 2, rel=1e-4)


def test_one_size_is_nothing_to_be_told():
    """From l to l: as if scaled by area."""
    parts = {name: a[:1] for name, a in slopes().params.items()}
    common = {"params": parts, "sizes_m": (30.0,), "bounds_m": (30.0, 30.0)}
    one, other = (dataclasses.replace(slopes(s), **common) for s in ("learned", "area"))
    boxes = RangeQueries.sample(CITY, 20, (10, 90), seed=3)
    assert (one.answer(boxes) == other.answer(boxes)).all()


def test_near_the_edge_it_asks_for_a_square_inside():
    """A square of 20 m at 0 is asked for as the middle of the outermost one of 30 m."""
    count = 2 * (10 + 20 * 15 / 400)
    answer = slopes().answer(RangeQueries(CITY, [0], [110], [20], [20]))
    assert answer[0] == pytest.approx(count * (20 / 30) ** 2, rel=1e-5)


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

    @staticmethod
    def file(tmp_path, settings=None, arrays=None, drop=(), model=None):
        model = model or slopes()
        release = Release("SNH", {}, 1, PrivacyUnit("record"), 9, False, PAID, model)
        data = release.to_bytes()
        about = json.loads(json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])[
            "__metadata__"]["snhkit"])  # fmt: skip
        about["settings"] |= settings or {}
        tensors = {k: v for k, v in parse(data).items() if k not in drop} | (arrays or {})
        path = tmp_path / "bad.snh"
        path.write_bytes(save(tensors, metadata={"snhkit": json.dumps(about)}))
        return path

    def test_the_file_itself_is_good(self, tmp_path):
        assert load(self.file(tmp_path)).model.network == NETWORK

    @pytest.mark.parametrize(
        "settings",
        [
            {"sizes_m": [30, 80, 50]},
            {"sizes_m": [30, 30, 80]},
            {"sizes_m": []},
            {"sizes_m": [30, 50]},
            {"sizes_m": [10, 50, 80]},
            {"sizes_m": [30, 50, 101]},
            {"sizes_m": [30, float("nan"), 80]},
            {"sizes_m": 30},
            {"bounds_m": [0, 100]},
            {"bounds_m": [20]},
            {"bounds_m": [20, 401]},
            {"bounds_m": [20, float("inf")]},
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
            {"network": {"name": "feature-grid", "levels": [4096] * 16, "fine": 4096}},
            {"network": {"name": "feature-grid", "levels": [4096] * 10**6, "fine": 4096}},
            {"network": {"name": "feature-grid", "levels": [2], "fine": 2, "features": 1}},
        ],
        ids=lambda settings: str(settings)[:60],
    )
    def test_settings(self, settings, tmp_path):
        with pytest.raises(ReleaseFileError, match=r"bad\.snh"):
            load(self.file(tmp_path, settings))

    @pytest.mark.parametrize(
        "arrays",
        [
            {"fine": np.zeros((3, 9, 2), np.float32)},
            {"fine": np.zeros((2, 9, 1), np.float32)},
            {"fine": np.zeros(27, np.float32)},
            {"fine": np.full((3, 9, 1), np.inf, np.float32)},
            {"w2": np.zeros((3, 1), np.float32)},
            {"blocks": np.zeros((4, 5), np.float32)},
            {"blocks": np.zeros(16, np.float32)},
            {"blocks": np.zeros((0, 0), np.float32)},
        ],
        ids=lambda a: "-".join(f"{k}{v.shape}" for k, v in a.items()),
    )
    def test_arrays(self, arrays, tmp_path):
        with pytest.raises(ReleaseFileError, match=r"bad\.snh"):
            load(self.file(tmp_path, arrays=arrays))

    @pytest.mark.parametrize("name", ["fine", "blocks", "w1"])
    def test_missing_arrays(self, name, tmp_path):
        with pytest.raises(ReleaseFileError, match=r"bad\.snh"):
            load(self.file(tmp_path, drop=(name,)))

    @pytest.mark.parametrize(
        ("settings", "arrays"),
        [
            ({"scaling": "area"}, {}),
            ({"bounds_m": [60, 60], "sizes_m": [60]}, {}),
            ({}, {"fine": np.zeros((3, 9, 1), np.float32)}),
            ({}, {"w0": np.zeros((3, 1, 1), np.float32)}),
        ],
        ids=str,
    )
    def test_what_does_not_fit_told_sizes(self, settings, arrays, tmp_path):
        assert load(self.file(tmp_path, model=told_sizes())).model.scaling == "learned"
        with pytest.raises(ReleaseFileError, match=r"bad\.snh"):
            load(self.file(tmp_path, settings, arrays, model=told_sizes()))

    @pytest.mark.parametrize("model", [slopes(), told_sizes()], ids=["slopes", "told sizes"])
    def test_a_model_survives_its_file(self, model, tmp_path):
        again = load(self.file(tmp_path, model=model)).model
        for field in dataclasses.fields(SNHModel):
            one, other = getattr(model, field.name), getattr(again, field.name)
            if field.name == "params":
                assert one.keys() == other.keys()
                assert all((one[k] == other[k]).all() for k in one)
            elif field.name == "blocks":
                assert (one == other).all()
            else:
                assert one == other
