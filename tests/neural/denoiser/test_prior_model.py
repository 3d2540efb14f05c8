import dataclasses
import json
import tracemalloc
import zlib
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from safetensors.numpy import load as parse
from safetensors.numpy import save

from snhkit import load
from snhkit.errors import InputError, ReleaseFileError
from snhkit.geometry import Grid, RangeQueries, Region
from snhkit.neural.denoiser.prior_model import CleanedGrid, PriorModel
from snhkit.privacy import PrivacyUnit, Spend
from snhkit.release import Release

CITY = Region.around(lat=45, lon=7, side_m=400)
PAID = (Spend(Fraction(1), "counts of all cells", "parallel"),)
COUNTS = np.array([[1, 700], [0, 2]], np.uint16)
CLEAN = st.integers(1, 6).flatmap(
    lambda m: arrays(np.float64, (m, m), elements=st.floats(0, 50) | st.floats(0, 1e12))
)


def model(counts=COUNTS, unit=0.25, blocks=None, gap=0.0, presence=None, level=0.0) -> PriorModel:
    """By default the sum over all is that of the counts, so both grids are the same."""
    blocks = np.array([[float(counts.sum())]]) if blocks is None else np.array(blocks, float)
    presence = np.zeros(counts.shape, np.uint8) if presence is None else presence
    return PriorModel(Grid(CITY, len(counts)), counts, presence, blocks, unit, level, gap, 2.0**-8)


def of(counts, noise: float, lead=1.0, noisy=None) -> PriorModel:
    """Where nobody is but in the counts; by default the noisy ones are these."""
    clean = CleanedGrid(counts, np.zeros(counts.shape), 0.0)
    return PriorModel.of(clean, counts if noisy is None else noisy, CITY, noise, lead)


def from_south_west(m: int) -> RangeQueries:
    """All boxes of whole cells that begin in the region's corner."""
    x, y = np.meshgrid(np.arange(1, m + 1), np.arange(1, m + 1), indexing="ij")
    width, height = x.ravel() * 400 / m, y.ravel() * 400 / m
    return RangeQueries(CITY, 0 * width, 0 * width, width, height)


def test_counts_alone_say_the_same_of_a_usual_box():
    """Of four cells with presences of 0.1 each."""
    clean = CleanedGrid(np.full((2, 2), 3.0), np.full((2, 2), 0.1), 20.0)
    assert clean.adding_up(1 / 4).sum() == pytest.approx(12 + 20 * (1 - np.exp(-0.4)))


class TestRounding:
    def test_by_hand(self):
        """In units of a record; 0.5 is even, so 0, and what it lacks comes with the next cell."""
        clean = np.array([[0.5, 0.5, 0.6], [0.25, 0.75, 3], [0, 0, 0]])
        rounded = of(clean, 16.0)
        assert rounded.counts.tolist() == [[0, 1, 1], [0, 1, 3], [0, 0, 0]]
        assert (rounded.unit, rounded.counts.dtype) == (1.0, np.uint8)

    @given(CLEAN, st.sampled_from([2.0**-62, 1e-6, 1.0, 30.0, 1e15]))
    def test_no_column_is_off_by_more_than_half_a_unit(self, clean, noise):
        """From its southern end to any place; so these boxes by half a unit a column."""
        m = len(clean)
        # The gap is wide: the other grid has no say.
        rounded = dataclasses.replace(of(clean, noise), gap=np.inf)
        found = rounded.answer(from_south_west(m)).reshape(m, m)
        upto = np.cumsum(np.cumsum(clean, 0), 1)
        allowed = np.arange(1, m + 1)[:, None] * rounded.unit / 2 + 1e-9 * upto
        assert (np.abs(found - upto) <= allowed).all()
        assert noise / 16 <= rounded.unit <= max(noise / 16, 1e-15 * clean.sum())

    @given(CLEAN, st.sampled_from([2.0**-62, 1.0, 1e15]))
    def test_counts_are_as_short_as_they_can_be_and_add_up_exactly(self, clean, noise):
        counts = of(clean, noise).counts
        assert counts.dtype == np.min_scalar_type(counts.max())
        assert sum(counts.ravel().tolist()) <= 2**53

    def test_nothing_at_all(self):
        empty = of(np.zeros((2, 2)), 5.0)
        assert empty.answer(from_south_west(2)).tolist() == [0] * 4
        assert empty.counts.dtype == np.uint8


class TestAnswers:
    def test_part_of_a_cell_counts_as_its_share(self):
        """Western column from the south 1 and 700, eastern 0 and 2, in quarters of a record."""
        boxes = RangeQueries(
            CITY, [0, 100, 0, 50], [0, 200, 150, 0], [400, 200, 100, 0], [400, 50, 100, 9]
        )
        expected = [703, 0.25 * (0.5 * 700 + 0.5 * 2), 0.5 * (0.25 * 1 + 0.25 * 700), 0]
        assert model().answer(boxes).tolist() == [e / 4 for e in expected]

    def test_it_is_held_to_within_a_gap_of_the_sums_over_blocks(self):
        """Counts of 8 in two blocks of 12 and 1, in units: 4 a cell are held up to 5, or to 1.5."""
        held = model(
            np.full((2, 2), 4, np.uint8), 1.0, [[12, 12], [1, 1]], gap=1.0
        )  # the west has too few, the east too many
        low = RangeQueries(CITY, [0, 200, 0, 200, 0], [0] * 5, [100, 100, 200, 200, 400], [200] * 5)
        assert held.answer(low).tolist() == [5, 1.5, 11, 2, 12]
        wide = model(np.full((2, 2), 4, np.uint8), 1.0, [[12, 12], [1, 1]], gap=99.0)
        assert wide.answer(low).tolist() == [2, 2, 4, 4, 8]
        assert held.additive().answer(low).tolist() == [6, 0.5, 12, 1, 13]

    def test_presence_adds_up_to_the_level_and_no_more(self):
        """A quarter of a cell with 128 of 256 has an eighth; the whole 0.5 + 1 is nearly all."""
        presence = np.array([[128, 0], [0, 255]], np.uint8)
        grown = model(np.zeros((2, 2), np.uint8), presence=presence, level=20.0, gap=99.0)
        sides = [100, 200, 200, 400]
        boxes = RangeQueries(CITY, [0, 0, 200, 0], [0] * 4, sides, sides)
        expected = -20 * np.expm1([-0.125, -0.5, 0, -383 / 256])
        np.testing.assert_allclose(grown.answer(boxes), expected, rtol=2e-3)
        held = dataclasses.replace(grown, gap=2.0)
        np.testing.assert_allclose(held.answer(boxes), expected.clip(max=2), rtol=2e-3)
        assert grown.additive().answer(boxes).tolist() == [0] * 4

    def test_presence_is_rounded_to_255ths_of_the_most(self):
        clean = CleanedGrid(np.ones((2, 2)), np.array([[0, 0.0039], [1.0038, 2]]), 3.0)
        made = PriorModel.of(clean, np.ones((2, 2)), CITY, 1.0, 1.0)
        assert made.presence.tolist() == [[0, 0], [128, 255]]
        assert (made.level, made.grain, made.presence.dtype) == (3.0, 2 / 255, np.uint8)

    def test_an_empty_block_that_should_not_be_is_filled_evenly(self):
        filled = model(np.array([[0, 0], [0, 0]], np.uint8), 1.0, [[8]], gap=0.0)
        assert filled.additive().values.tolist() == [[2, 2], [2, 2]]

    def test_sums_over_blocks_come_from_the_noisy_counts(self):
        """Twice as many as the clean ones, which noise does not explain."""
        noisy = np.full((40, 40), 20)
        large = of(np.full((80, 80), 2.5), 0.5, 3.0, noisy)
        whole = RangeQueries(CITY, [0, 0], [0, 0], [400, 200], [400, 400])
        np.testing.assert_allclose(large.additive().answer(whole), [32_000, 16_000], rtol=1e-3)
        np.testing.assert_allclose(large.answer(whole), [32_000 - 3, 16_000 - 3], rtol=1e-3)
        assert (large.gap, large.blocks.shape) == (3.0, (2, 2))

    def test_the_gap_closes_as_noise_vanishes(self):
        assert of(np.ones((2, 2)), 1e-6, 9.0).gap == 64e-6

    def test_no_theory_gives_its_noise(self):
        assert np.isnan(model().noise_variance(from_south_west(2))).all()

    def test_a_box_never_holds_less_than_one_inside_it(self):
        """Not by the last bit, in a region where nearly all records lie in one cell."""
        clean = np.random.default_rng(1).exponential(2, (100, 100))
        clean[0, 0] = 1e12
        presence = np.random.default_rng(2).exponential(0.03, (100, 100))
        grown = PriorModel.of(CleanedGrid(clean, presence, 7.0), clean, CITY, 1.0, lead=9.0)
        low = 150 + np.arange(500) / 7
        boxes = [
            RangeQueries(CITY, low, low, s, s) for s in 100 + np.outer([0, 1e-9, 1e-6], low**0)
        ]
        answers = np.array([grown.answer(nested) for nested in boxes])
        assert (np.diff(answers, axis=0) >= 0).all()
        assert (answers > 0).all()

    def test_its_own_cells(self):
        assert model().cells() == model().additive().cells() == Grid(CITY, 2)
        assert model().region == CITY


def packed(counts: np.ndarray) -> np.ndarray:
    return model(counts).arrays()["counts"]


def written(tmp_path, settings=None, arrays=None, drop=()):
    """A file, some of whose parts are others."""
    release = Release("SNH", {}, 1, PrivacyUnit("record"), 9, False, PAID, model())
    data = release.to_bytes()
    head = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])["__metadata__"]["snhkit"]
    about = json.loads(head)
    about["settings"] = {k: v for k, v in about["settings"].items() if k not in drop}
    about["settings"] |= settings or {}
    path = tmp_path / "bad.snh"
    tensors = parse(data) | (arrays or {})
    kept = {name: a for name, a in tensors.items() if name not in drop}
    path.write_bytes(save(kept, metadata={"snhkit": json.dumps(about)}))
    return path


def refusal(path) -> str:
    with pytest.raises(ReleaseFileError, match=r"bad\.snh") as caught:
        load(path)
    return str(caught.value)


class TestFile:
    @pytest.mark.parametrize("kind", ["u1", "u2", "u4", "u8"])
    def test_a_model_survives_its_file(self, kind, tmp_path):
        most = min(np.iinfo(kind).max, 2**52)
        counts = np.array([[0, 1, most], [most // 3, 200, 77], [5, 0, 0]], kind)
        presence = np.arange(9, dtype=np.uint8).reshape(3, 3)
        stored = model(counts, 0.3, presence=presence, level=5.0)
        release = Release("SNH", {}, 1, PrivacyUnit("record"), 9, False, PAID, stored)
        again = load(release.save(tmp_path / "good.snh"))
        assert (again.model.counts == counts).all()
        assert again.model.counts.dtype == counts.dtype
        assert (again.model.presence == presence).all()
        assert again.model.grain == 2.0**-8
        assert (again.model.unit, again.model.level, again.model.grid) == (0.3, 5.0, Grid(CITY, 3))
        assert again.to_bytes() == release.to_bytes()

    def test_lowest_bytes_come_first_whatever_the_machine(self):
        counts = np.array([[1, 2], [3, 0x0405]])
        for kind in ("<u2", ">u2"):
            data = zlib.decompress(packed(counts.astype(kind)).tobytes())
            assert list(data) == [1, 2, 3, 5, 0, 0, 0, 4]

    def test_the_file_itself_is_good(self, tmp_path):
        assert (load(written(tmp_path)).model.counts == COUNTS).all()

    @pytest.mark.parametrize(
        ("settings", "told"),
        [
            ({"m": 3}, "not those of 3 by 3 cells"),
            ({"m": 1}, "not those of 1 by 1 cells"),
            ({"m": 0}, "from 1 to 8,192"),
            ({"m": 8_193}, "from 1 to 8,192"),
            ({"m": 10**9}, "from 1 to 8,192"),
            ({"m": 2.0}, "whole number"),
            ({"m": True}, "whole number"),
            ({"m": "2"}, "whole number"),
            ({"m": None}, "whole number"),
            ({"bytes": 1}, "not those of 2 by 2 cells"),
            ({"bytes": 4}, "not those of 2 by 2 cells"),
            ({"bytes": 3}, "counts of 3 bytes"),
            ({"bytes": 0}, "counts of 0 bytes"),
            ({"bytes": -2}, "counts of -2 bytes"),
            ({"bytes": 16}, "counts of 16 bytes"),
            ({"bytes": 2.0}, "counts of 2.0 bytes"),
            ({"bytes": "2"}, "counts of '2' bytes"),
            ({"bytes": [2]}, "counts of [2] bytes"),
            ({"bytes": None}, "counts of None bytes"),
            ({"unit": 0}, "in units of 0"),
            ({"unit": -1}, "in units of -1"),
            ({"unit": float("inf")}, "not finite"),
            ({"unit": float("nan")}, "not finite"),
            ({"unit": 1e300}, "above 2**128"),
            ({"unit": "1e300"}, "in units of 1e+300"),
            ({"unit": "nan"}, "in units of nan"),
            ({"unit": 10**400}, "above 2**128"),
            ({"unit": None}, "damaged"),
            ({"level": -1}, "a level of -1"),
            ({"level": "nan"}, "a level of nan"),
            ({"level": 1e300}, "above 2**128"),
            ({"level": None}, "damaged"),
            ({"grain": -1}, "a grain of -1"),
            ({"grain": "nan"}, "a grain of nan"),
            ({"gap": -1}, "a gap of -1"),
            ({"gap": "nan"}, "a gap of nan"),
            ({"gap": 1e300}, "above 2**128"),
            ({"gap": None}, "damaged"),
        ],
        ids=str,
    )
    def test_settings(self, settings, told, tmp_path):
        assert told in refusal(written(tmp_path, settings))

    @pytest.mark.parametrize(
        "name", ["m", "bytes", "unit", "level", "gap", "grain", "counts", "presence", "blocks"]
    )
    def test_each_part_is_needed(self, name, tmp_path):
        refusal(written(tmp_path, drop=(name,)))

    @pytest.mark.parametrize(
        "arrays",
        [
            {"more": np.zeros(3, np.uint8)},
            {"values": np.zeros((2, 2))},
            {"counts": COUNTS.astype(np.int32)},
            {"counts": packed(COUNTS).astype(np.float32)},
            {"counts": packed(COUNTS)[None]},
            {"counts": np.zeros((), np.uint8)},
            {"blocks": np.ones((1, 1), np.int64)},
            {"blocks": np.ones(1)},
        ],
        ids=lambda a: "-".join(f"{k}{v.shape}{v.dtype}" for k, v in a.items()),
    )
    def test_other_arrays(self, arrays, tmp_path):
        assert "'presence', rows of bytes" in refusal(written(tmp_path, arrays=arrays))

    @pytest.mark.parametrize("kind", ["int8", "uint16", "uint64", "bool"])
    def test_types_no_release_uses(self, kind, tmp_path):
        path = written(tmp_path, arrays={"counts": packed(COUNTS).astype(kind)})
        assert "which no release uses" in refusal(path)

    def test_bytes_that_are_not_packed_and_others(self, tmp_path):
        whole = packed(COUNTS)
        flipped = whole.copy()
        flipped[-1] ^= 1  # of the checksum
        for data in (np.arange(99, dtype=np.uint8), COUNTS.ravel().view(np.uint8), flipped):
            assert "bytes of counts cannot be unpacked" in refusal(
                written(tmp_path, arrays={"counts": data})
            )
        said = refusal(written(tmp_path, arrays={"presence": np.arange(99, dtype=np.uint8)}))
        assert "bytes of presence cannot be unpacked" in said
        few = np.frombuffer(zlib.compress(bytes(3)), np.uint8)
        said = refusal(written(tmp_path, arrays={"presence": few}))
        assert "bytes of presence are not those of 2 by 2 cells" in said
        for data in (*(whole[:end] for end in range(len(whole))), np.append(whole, whole[:1])):
            path = written(tmp_path, arrays={"counts": data})
            assert "not those of 2 by 2 cells" in refusal(path)

    def test_counts_that_floating_point_cannot_add_up(self, tmp_path):
        for most, good in ((2**51, True), (2**51 + 1, False), (2**64 - 1, False)):
            data = packed(np.full((2, 2), most, np.uint64))
            blocks = np.array([[2.0**53]])
            path = written(tmp_path, {"bytes": 8}, {"counts": data, "blocks": blocks})
            if good:
                assert load(path).model.answer(from_south_west(2))[-1] == 2**51
            else:
                assert "add up to more than 2**53" in refusal(path)

    @pytest.mark.parametrize(
        ("settings", "length"), [({}, 2**27), ({"m": 8_192, "bytes": 8}, 2**17)], ids=str
    )
    def test_little_is_unpacked_before_it_is_refused(self, settings, length, tmp_path):
        """A bomb for four counts, and a file of 300 bytes that speaks of 2**26."""
        bomb = np.frombuffer(zlib.compress(bytes(length), 9), np.uint8)
        path = written(tmp_path, settings, {"counts": bomb})
        tracemalloc.start()
        try:
            assert "not those of" in refusal(path)
            assert tracemalloc.get_traced_memory()[1] < 2**22
        finally:
            tracemalloc.stop()

    def test_restoring_says_no_in_its_own_words(self):
        with pytest.raises(InputError, match="rows of bytes"):
            PriorModel.restore(CITY, {}, {"m": 2, "bytes": 2, "unit": 1.0})
