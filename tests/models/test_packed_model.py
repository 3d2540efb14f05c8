import tracemalloc
import zlib
from fractions import Fraction
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from snhkit import load
from snhkit.errors import InputError, ReleaseFileError
from snhkit.geometry import Grid, RangeQueries, Region
from snhkit.models import PackedGridModel, packed_model
from snhkit.models.packed_model import MOST, PackedCounts
from snhkit.privacy import PrivacyUnit, Spend
from snhkit.release import Release

CITY = Region.around(lat=45, lon=7, side_m=400)
COUNTS = np.array([[1, 700], [0, 2]], np.uint16)
CLEAN = st.integers(1, 6).flatmap(
    lambda m: arrays(np.float64, (m, m), elements=st.floats(0, 50) | st.floats(0, 1e12))
)


def release_of(model: PackedGridModel) -> Release:
    paid = (Spend(Fraction(1), "counts"),)
    return Release("DenoisedGrid", {}, Fraction(1), PrivacyUnit("record"), 9, False, paid, model)


def model(counts=COUNTS, unit=0.25) -> PackedGridModel:
    return PackedGridModel(PackedCounts.of(Grid(CITY, len(counts)), counts), unit)


def from_south_west(m: int) -> RangeQueries:
    """All boxes of whole cells that begin in the region's corner."""
    x, y = np.meshgrid(np.arange(1, m + 1), np.arange(1, m + 1), indexing="ij")
    width, height = x.ravel() * 400 / m, y.ravel() * 400 / m
    return RangeQueries(CITY, 0 * width, 0 * width, width, height)


class TestRounding:
    def test_by_hand(self):
        """Twelve records in units of one; 0.5 rounds to 0, and the next cell has what it lacks."""
        clean = np.array([[0.5, 0.5, 0.5], [0.5, 1, 3], [0, 0, 6]])
        rounded = PackedGridModel.of(CITY, clean, 16.0, 12)
        assert rounded.counts.counts().tolist() == [[0, 1, 1], [0, 1, 3], [0, 0, 6]]
        assert (rounded.unit, rounded.counts.size) == (1.0, 1)

    @given(CLEAN, st.sampled_from([2.0**-40, 1e-6, 1.0, 30.0]), st.integers(1, 10**9))
    def test_no_row_is_off_by_a_unit_and_all_add_up(self, clean, noise, total):
        """In proportion, from the western end of a column to any cell."""
        found = PackedGridModel.of(CITY, clean, noise, total)
        counts = found.counts.counts().astype(object)
        whole = clean.sum()
        if whole > 1e-200:
            upto = np.cumsum(clean, axis=1) / whole * total
            off = np.abs(np.cumsum(counts, axis=1).astype(float) * found.unit - upto)
            assert (off <= found.unit * (1 + 1e-9) + 1e-9 * total).all()
        assert found.unit >= total / 2**52

    @given(CLEAN, st.sampled_from([2.0**-62, 1.0, 1e15]), st.integers(0, 10**6))
    def test_the_whole_region_holds_the_total(self, clean, noise, total):
        whole = RangeQueries(CITY, [0], [0], [400], [400])
        answer = PackedGridModel.of(CITY, clean, noise, total).answer(whole)[0]
        assert answer == pytest.approx(total, rel=1e-15)

    def test_many_bands_round_as_one(self):
        clean = np.random.default_rng(0).exponential(0.1, (150, 150))
        counts = PackedGridModel.of(CITY, clean, 16.0, 2_000).counts.counts()
        ends = np.rint(clean.cumsum() / clean.sum() * 2_000)
        assert (counts.ravel() == np.diff(ends, prepend=0)).all()

    def test_nothing_at_all(self):
        empty = PackedGridModel.of(CITY, np.zeros((2, 2)), 5.0, 0)
        assert empty.answer(from_south_west(2)).tolist() == [0] * 4
        assert empty.counts.size == 1


class TestAnswers:
    def test_part_of_a_cell_counts_as_its_share(self):
        """Western column from the south 1 and 700, eastern 0 and 2, in quarters of a record."""
        boxes = RangeQueries(
            CITY, [0, 100, 0, 50], [0, 200, 150, 0], [400, 200, 100, 0], [400, 50, 100, 9]
        )
        expected = [703, 0.25 * (0.5 * 700 + 0.5 * 2), 0.5 * (0.25 * 1 + 0.25 * 700), 0]
        assert model().answer(boxes).tolist() == [e / 4 for e in expected]

    def test_no_theory_gives_its_noise(self):
        assert np.isnan(model().noise_variance(from_south_west(2))).all()
        assert not model().separate

    def test_its_own_cells(self):
        assert model().cells() == model().grid == Grid(CITY, 2)
        assert model().additive().region == CITY


def packed(counts: np.ndarray) -> np.ndarray:
    return model(counts).arrays()["counts"]


def packed_raw(counts: np.ndarray) -> np.ndarray:
    """Whatever they add up to."""
    rows = counts.reshape(-1, 1).view(np.uint8).T
    return np.frombuffer(zlib.compress(np.ascontiguousarray(rows).tobytes()), np.uint8)


def parts(data) -> dict[str, np.ndarray]:
    """One band of rows with these bytes."""
    return {"counts": data, "ends": np.array([len(data)])}


@pytest.fixture
def written(altered):
    """A file, some of whose parts are others."""
    return partial(altered, release_of(model()).to_bytes())


def refusal(path) -> str:
    with pytest.raises(ReleaseFileError, match=r"bad\.snh") as caught:
        load(path)
    return str(caught.value)


class TestFile:
    @pytest.mark.parametrize("kind", ["u1", "u2", "u4", "u8"])
    def test_a_model_survives_its_file(self, kind, tmp_path):
        most = min(np.iinfo(kind).max, 2**52)
        counts = np.array([[0, 1, most], [most // 3, 200, 77], [5, 0, 0]], kind)
        stored = model(counts, 0.3)
        release = release_of(stored)
        again = load(release.save(tmp_path / "good.snh"))
        assert (again.model.counts.counts() == counts).all()
        assert again.model.counts.size == np.min_scalar_type(counts.max()).itemsize
        assert (again.model.unit, again.model.grid) == (0.3, Grid(CITY, 3))
        assert again.to_bytes() == release.to_bytes()

    def test_lowest_bytes_come_first_whatever_the_machine(self):
        counts = np.array([[1, 2], [3, 0x0405]])
        for kind in ("<u2", ">u2", "<i8"):
            data = zlib.decompress(packed(counts.astype(kind)).tobytes())
            assert list(data) == [1, 2, 3, 5, 0, 0, 0, 4]

    def test_the_file_itself_is_good(self, written):
        assert (load(written()).model.counts.counts() == COUNTS).all()

    @pytest.mark.parametrize(
        ("settings", "told"),
        [
            ({"m": 3}, "do not hold the counts of 3 by 3 cells"),
            ({"m": 1}, "do not hold the counts of 1 by 1 cells"),
            ({"m": 0}, "from 1 to 8,192"),
            ({"m": 8_193}, "from 1 to 8,192"),
            ({"m": 2.0}, "whole number"),
            ({"m": True}, "whole number"),
            ({"m": None}, "whole number"),
            ({"bytes": 1}, "do not hold the counts of 2 by 2 cells"),
            ({"bytes": 4}, "do not hold the counts of 2 by 2 cells"),
            ({"bytes": 3}, "or 8, not 3"),
            ({"bytes": 2.0}, "or 8, not 2.0,"),
            ({"bytes": [2]}, "or 8, not [2],"),
            ({"bytes": None}, "or 8, not None,"),
            ({"unit": 0}, "2**128], not 0"),
            ({"unit": -1}, "2**128], not -1"),
            ({"unit": float("inf")}, "not finite"),
            ({"unit": float("nan")}, "not finite"),
            ({"unit": 1e300}, "above 2**128"),
            ({"unit": "1e300"}, "2**128], not 1e+300"),
            ({"unit": "nan"}, "2**128], not nan"),
            ({"unit": 10**400}, "above 2**128"),
            ({"unit": None}, "damaged"),
        ],
        ids=str,
    )
    @pytest.mark.usefixtures("unchecked")
    def test_settings(self, settings, told, written):
        assert told in refusal(written(settings))

    @pytest.mark.parametrize("name", ["m", "bytes", "unit", "counts", "ends"])
    def test_each_part_is_needed(self, name, written):
        refusal(written(drop=(name,)))

    @pytest.mark.parametrize(
        "arrays",
        [
            {"more": np.zeros(3, np.uint8)},
            {"values": np.zeros((2, 2))},
            {"counts": COUNTS.astype(np.int32)},
            {"counts": packed(COUNTS).astype(np.float32)},
            {"counts": packed(COUNTS)[None]},
            {"counts": np.zeros((), np.uint8)},
            {"ends": np.ones((1, 1), np.int64)},
            {"ends": np.ones(1)},
            {"ends": np.ones(1, np.int32)},
            {"presence": np.zeros(3, np.uint8), "blocks": np.ones((1, 1))},
        ],
        ids=lambda a: "-".join(f"{k}{v.shape}{v.dtype}" for k, v in a.items()),
    )
    def test_other_arrays(self, arrays, written):
        assert "'counts' of bytes" in refusal(written(arrays=arrays))

    @pytest.mark.parametrize("kind", ["int8", "uint16", "uint64", "bool"])
    def test_types_no_release_uses(self, kind, written):
        path = written(arrays={"counts": packed(COUNTS).astype(kind)})
        assert "which no release uses" in refusal(path)

    @pytest.mark.parametrize("ends", [[], [3], [0, 99], [-1], [2**62]], ids=str)
    def test_ends_of_other_bands(self, ends, written):
        path = written(arrays={"ends": np.array(ends, np.int64)})
        assert "'ends' does not fit a grid of 2 rows" in refusal(path)

    def test_ends_that_go_back(self):
        with pytest.raises(InputError, match="'ends' does not fit a grid of 70 rows"):
            PackedCounts(Grid(CITY, 70), 1, np.zeros(9, np.uint8), np.array([12, 9]))

    def test_bytes_that_are_not_packed_and_others(self, written):
        whole = packed(COUNTS)
        flipped = whole.copy()
        flipped[-1] ^= 1  # of the checksum
        for data in (np.arange(99, dtype=np.uint8), COUNTS.ravel().view(np.uint8), flipped):
            said = refusal(written(arrays=parts(data)))
            assert "bytes of counts cannot be unpacked" in said
        for data in (*(whole[:end] for end in range(len(whole))), np.append(whole, whole[:1])):
            said = refusal(written(arrays=parts(data)))
            assert "do not hold the counts of 2 by 2 cells" in said

    def test_counts_that_floating_point_cannot_add_up(self, written):
        for most, good in ((2**51, True), (2**51 + 1, False), (2**64 - 1, False)):
            data = packed_raw(np.full((2, 2), most, np.uint64))
            path = written({"bytes": 8}, parts(data))
            if good:
                assert load(path).model.answer(from_south_west(2))[-1] == 2**51
            else:
                assert "add up to more than 2**53" in refusal(path)

    @pytest.mark.parametrize(
        ("settings", "length"), [({}, 2**27), ({"m": 8_192, "bytes": 8}, 2**17)], ids=str
    )
    def test_little_is_unpacked_before_it_is_refused(self, settings, length, written):
        """A bomb for four counts, and a file of 300 bytes that speaks of 2**26."""
        bomb = np.frombuffer(zlib.compress(bytes(length), 9), np.uint8)
        ends = np.full(-(-settings.get("m", 2) // 64), len(bomb))
        path = written(settings, {"counts": bomb, "ends": ends})
        tracemalloc.start()
        try:
            assert "do not hold the counts" in refusal(path)
            assert tracemalloc.get_traced_memory()[1] < 2**24
        finally:
            tracemalloc.stop()

    def test_restoring_says_no_in_its_own_words(self):
        with pytest.raises(InputError, match="'counts' of bytes"):
            PackedGridModel.restore(CITY, {}, {"m": 2, "bytes": 2, "unit": 1.0})


PLACES = st.floats(-50, 450) | st.sampled_from([0.0, 57.142857142857146, 100.0, 200.0, 400.0])


@st.composite
def tables(draw):
    """Numbers that add up to ``MOST`` at most, however unevenly."""
    m = draw(st.integers(1, 7))
    sizes = st.sampled_from([0, 1, 3, 1_000, 2**31, MOST // 49])
    values = np.array(draw(st.lists(sizes, min_size=m * m, max_size=m * m))).reshape(m, m)
    if draw(st.booleans()):
        values[draw(st.integers(0, m - 1)), draw(st.integers(0, m - 1))] += MOST - values.sum()
    return values


@st.composite
def nested(draw):
    """A box and one inside it, as floating point adds up their edges."""
    (w, w1, e1, e), (s, s1, n1, n) = (sorted(draw(st.tuples(*[PLACES] * 4))) for _ in "xy")
    boxes = RangeQueries(CITY, [w, w1], [s, s1], [e - w, e1 - w1], [n - s, n1 - s1])
    for low, size in ((boxes.x, boxes.width), (boxes.y, boxes.height)):
        outer, inner = low + size
        if inner > outer:
            size[1] = 0
    return RangeQueries(CITY, boxes.x, boxes.y, boxes.width, boxes.height)


def exact(values: np.ndarray, box: RangeQueries) -> Fraction:
    """With edges at whole 2**20ths of a cell."""
    m = len(values)

    def shares(low, high):
        ends = [round(min(max(at / (400 / m), 0), m) * 2**20) for at in (low, high)]
        at = [min(max(i * 2**20, ends[0]), ends[1]) for i in range(m + 1)]
        return [Fraction(b - a, 2**20) for a, b in pairwise(at)]

    x = shares(box.x[0], box.x[0] + box.width[0])
    y = shares(box.y[0], box.y[0] + box.height[0])
    return sum(
        (x[i] * y[j] * int(values[i, j]) for i in range(m) for j in range(m)), start=Fraction(0)
    )


def packed_counts(values: np.ndarray, band: int = 64) -> PackedCounts:
    """Compressed in bands of so many rows."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packed_model, "BAND", band)
        return PackedCounts.of(Grid(CITY, len(values)), values.astype(np.uint64))


@pytest.mark.parametrize("band", [1, 2, 64])
@given(values=tables(), boxes=nested())
def test_the_nearest_number_to_the_exact_sum(band, values, boxes):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packed_model, "BAND", band)
        found = packed_counts(values, band).sums(boxes)
    assert found.tolist() == [float(exact(values, boxes[k : k + 1])) for k in (0, 1)]


@pytest.mark.parametrize("most", [1, 200, 70_000, 2**36])
def test_many_bands_and_boxes(most, monkeypatch):
    """Against plain summed areas, whole cells only; few bands are held at a time."""
    values = np.random.default_rng(most).integers(0, most + 1, (300, 300))
    counts = packed_counts(values)
    assert counts.total == values.sum()
    assert (counts.counts() == values).all()
    assert counts.size == np.min_scalar_type(values.max()).itemsize
    monkeypatch.setattr(packed_model, "_HELD", 2 * 65 * 301)
    low, high = np.sort(np.random.default_rng(1).integers(0, 301, (2, 2, 999)), axis=0)
    edges = Grid(CITY, 300).edges()
    boxes = RangeQueries(CITY, *edges[low], *(edges[high] - edges[low]))
    table = np.zeros((301, 301), np.int64)
    table[1:, 1:] = values.cumsum(0).cumsum(1)
    expected = table[tuple(high)] - table[low[0], high[1]] - table[high[0], low[1]]
    np.testing.assert_allclose(counts.sums(boxes), expected + table[tuple(low)], rtol=1e-15)
    assert len(counts._tables) == 2


def test_a_large_grid_is_answered_in_little_memory():
    """8,192 by 8,192 cells are 67 MB as they are, and 537 MB as a summed area."""
    rng = np.random.default_rng(0)
    grid, rows = Grid(CITY, 8_192), rng.integers(0, 3, (64, 8_192), np.uint8)
    band = np.frombuffer(zlib.compress(rows.tobytes(), 1), np.uint8)
    packed_counts = np.tile(band, 128), np.arange(1, 129) * len(band)
    centre = rng.uniform(0, 400, (10_000, 2))
    boxes = RangeQueries.squares(CITY, centre, rng.uniform(0.1, 300, 10_000))
    tracemalloc.start()
    try:
        counts = PackedCounts(grid, 1, *packed_counts)
        answers = counts.sums(boxes)
        assert tracemalloc.get_traced_memory()[1] < 100 * 2**20
    finally:
        tracemalloc.stop()
    assert counts.total == 128 * int(rows.sum())
    assert (answers >= 0).all()


@pytest.mark.parametrize("m", [1, 3, 999])
def test_cells_are_whole(m):
    """Where corners in metres are no round numbers."""
    values = np.zeros((m, m), np.uint8)
    values[-3:, -3:] = 7
    grid = Grid(CITY, m)
    low = grid.edges()[:-1][-3:]
    boxes = RangeQueries(CITY, low, low, grid.cell_m + 0 * low, grid.cell_m + 0 * low)
    assert (PackedCounts.of(grid, values).sums(boxes) == 7).all()


def test_boxes_of_another_region_are_refused():
    other = Region.around(lat=44, lon=7, side_m=400)
    with pytest.raises(InputError, match="another region"):
        packed_counts(np.ones((2, 2))).sums(RangeQueries(other, [0], [0], [1], [1]))
