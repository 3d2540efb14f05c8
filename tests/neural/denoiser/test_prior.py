"""Tiles, turns and limits of the prior; with weights that mean nothing, whatever is shipped."""

from importlib import resources

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from safetensors.numpy import load

from snhkit.errors import InputError
from snhkit.geometry import Grid, Region
from snhkit.geometry.grid import block_sums
from snhkit.neural import Prior
from snhkit.neural.denoiser import prior
from snhkit.neural.denoiser.denoiser import PLANES, start
from snhkit.neural.denoiser.levels import blocks, estimates

SHAPES = jax.eval_shape(start, jax.random.key(0))
TOLD = np.array([1, -0.5, 0.5, 1, -2, -0.1, -0.5, 0], np.float32)
SIZES = (25.0, 100.0)


@pytest.fixture(autouse=True)
def weights(monkeypatch):
    """Drawn ones, which keep the size of what passes through."""
    rng = np.random.default_rng(4)

    def drawn(shape):
        spread = 1.2 / np.sqrt(max(np.prod(shape[:-1]), 1))
        return rng.normal(0, spread if len(shape) == 4 else 0.3, shape).astype(np.float32)

    made = jax.tree.map(lambda a: drawn(a.shape), SHAPES)
    monkeypatch.setattr(prior, "_weights", lambda: made)


def noisy_grid(m: int, seed: int = 1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.poisson(rng.gamma(0.5, 4, (m, m))) + rng.geometric(0.4, (m, m)) - 3


def levels(noisy, noise=2.0, cell_m=40.0):
    """With counts of blocks that have the same noise as cells."""
    grid = Grid(Region.around(lat=0, lon=0, side_m=len(noisy) * cell_m), len(noisy))
    cells = noisy / noise
    small, large = ((block_sums(cells, first), 2.0) for first in blocks(grid))
    return estimates(grid, noise, cells, large, small)


def cleaned(noisy, noise=2.0, smoothing=5.0, cell_m=40.0, sizes_m=SIZES, turns=1, total=None):
    total = max(float(noisy.sum()), 1.0) if total is None else total
    return Prior(turns).clean(levels(noisy, noise, cell_m), smoothing, sizes_m, total)


def planes(m: int, seed: int = 2) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(1, 3, (m, m, PLANES)).astype(np.float32)


def shipped_file() -> bytes:
    folder = resources.files("snhkit.neural.denoiser")
    return folder.joinpath("prior.safetensors").read_bytes()


class TestWeights:
    def test_the_file_fits_the_network(self):
        shipped = shipped_file()
        arrays = load(shipped)
        expected = {f"{i}.{j}": part.shape for i, two in SHAPES.items() for j, part in two.items()}
        assert {name: a.shape for name, a in arrays.items()} == expected
        assert all(np.isfinite(a).all() for a in arrays.values())
        assert len(shipped) < 10**6

    def test_they_are_read_as_they_lie_there(self, monkeypatch):
        monkeypatch.undo()
        shipped = shipped_file()
        for name, array in load(shipped).items():
            layer, part = name.split(".")
            assert (np.asarray(prior._weights()[layer][part]) == array).all()


class TestTiles:
    def test_pieces_are_the_whole(self, monkeypatch):
        """Nine of 192 cells a side; or one of 256."""
        m = 209
        seen = planes(m)
        whole = prior._by_tiles(seen, TOLD, 1, 2)
        monkeypatch.setattr(prior, "_TILE", 192)
        for pieces, one in zip(prior._by_tiles(seen, TOLD, 1, 2), whole, strict=True):
            assert pieces.shape[:2] == one.shape[:2]
            np.testing.assert_allclose(pieces, one, rtol=1e-3, atol=1e-3)
        assert [a.shape for a in whole] == [(2 * m, 2 * m), (m, m, 3)]

    def test_nothing_matters_beyond_the_seam(self):
        """From the last cell that is kept of a tile; but for what rounding does to local means."""
        inside = 24 - prior._EDGE
        grid = np.zeros((inside + prior._SEAM + 20,) * 2 + (PLANES,), np.float32)
        grid[inside + prior._SEAM - 1 :] = grid[:, inside + prior._SEAM - 1 :] = 1e3
        near, far = (prior._by_tiles(g, TOLD, 1, 2)[0] for g in (0 * grid, grid))
        kept, beyond = slice(2 * inside), slice(2 * inside, 2 * inside + 16)
        np.testing.assert_allclose(far[kept, kept], near[kept, kept], atol=1e-3)
        assert np.abs(far[beyond, beyond] - near[beyond, beyond]).max() > 0.01

    @pytest.mark.parametrize("m", [1, 7, 16, 33, 64, 65, 160, 161, 300, 1_100])
    @pytest.mark.parametrize("split", [1, 2])
    def test_each_piece_is_put_where_it_came_from(self, m, split, monkeypatch):
        def spread(_weights, part, _told, _turns):
            counts = np.repeat(np.repeat(part[..., 0] / 4, 2, axis=0), 2, axis=1)
            return counts, part[..., 2:5]

        monkeypatch.setattr(prior, "_denoised", spread)
        if m < 1_000:
            monkeypatch.setattr(prior, "_TILE", 192)
        seen = planes(m)
        counts, opinion = prior._by_tiles(seen, TOLD, 8, split)
        expected = np.repeat(np.repeat(seen[..., 0], split, 0), split, 1) / split**2
        np.testing.assert_allclose(counts, expected, rtol=1e-6)
        assert (opinion == seen[..., 2:5]).all()

    def test_few_shapes_are_compiled(self, monkeypatch):
        seen = set()

        def recording(_weights, part, _told, _turns):
            seen.add(part.shape)
            return np.zeros((2 * len(part), 2 * len(part))), np.zeros((*part.shape[:2], 3))

        monkeypatch.setattr(prior, "_denoised", recording)
        for m in [*range(1, 80, 5), *range(80, 1_200, 61)]:
            prior._by_tiles(np.zeros((m, m, PLANES), np.float32), TOLD, 1, 1)
        assert len(seen) <= 13
        assert all(rows == columns <= prior._TILE for rows, columns, _ in seen)
        assert all(rows % 8 == 0 for rows, _, _ in seen)

    def test_one_program_for_all_small_grids(self):
        cleaned(noisy_grid(16))
        before = prior._denoised._cache_size()
        for m in (4, 7, 12):
            cleaned(noisy_grid(m))
        assert prior._denoised._cache_size() == before


class TestAbout:
    def test_by_hand(self):
        """Sums of 10 by 10 cells: 2 beside 200, so 2 * 200 / 202 of 200."""
        given = levels(np.zeros((60, 60)), noise=4.0, cell_m=40.0)
        told = prior.about(given, 8.0, (20.0, 100.0))
        assert [len(part.first) for part in (given.small, given.large)] == [6, 2]
        peaks = -5
        small = 0.5 * np.log(np.median(given.small.variance) / 200)
        large = 0.5 * np.log(np.median(given.large.variance) / 1_800)
        assert small < -1.5
        assert large < small
        expected = [np.log(2), 0, np.log(1.5), np.log(4), peaks, small, large, 0]
        np.testing.assert_allclose(told, expected, rtol=1e-5, atol=1e-6)

    def test_the_noise_of_a_record_matters(self):
        """16 times as many records with 16 times the noise are not the same."""
        one, other = levels(noisy_grid(30)), levels(16 * noisy_grid(30), noise=32.0)
        told = [prior.about(one, 5.0, SIZES), prior.about(other, 80.0, SIZES)]
        assert (np.abs(told[0] - told[1]) > 1e-3).tolist() == [False] * 3 + [True] + [False] * 4

    def test_what_was_never_seen_counts_as_the_outermost_that_was(self):
        noisy = np.zeros((13, 13))
        for one, other in [
            ((levels(noisy), 1e4, SIZES), (levels(noisy), 1e9, SIZES)),
            ((levels(noisy), 0.01, SIZES), (levels(noisy), 1e-9, SIZES)),
            ((levels(noisy), 5.0, (2e3, 2e3)), (levels(noisy), 5.0, (2e3, 9e9))),
        ]:
            assert (prior.about(*one) == prior.about(*other)).all()

    @pytest.mark.parametrize(("zoom", "same"), [(10, True), (0.5, False)])
    def test_a_city_with_wider_boxes_than_were_taught_is_a_smaller_one(self, zoom, same):
        noisy = np.zeros((60, 60))
        known = prior.about(levels(noisy, cell_m=80.0), 5.0, (100.0, 400.0))
        given = levels(noisy, cell_m=80.0 * zoom)
        found = prior.about(given, 5.0, (100.0 * zoom, 400.0 * zoom))
        assert np.allclose(found[:4], known[:4]) == same


class TestTurns:
    def test_there_are_eight_and_each_is_undone(self):
        grid = planes(5)
        turned = [np.asarray(prior._turned(jnp.asarray(grid), turn)) for turn in range(8)]
        assert len({a.tobytes() for a in turned}) == 8
        for turn, a in enumerate(turned):
            assert (np.asarray(prior._turned_back(jnp.asarray(a), turn)) == grid).all()

    @pytest.mark.parametrize("turn", [1, 6])
    def test_a_turned_grid_comes_out_turned(self, turn):
        """If all eight are averaged; and it is no other grid."""
        seen = planes(16)
        turned = np.asarray(prior._turned(jnp.asarray(seen), turn))
        pairs = zip(*(prior._by_tiles(a, TOLD, 8, 2) for a in (seen, turned)), strict=True)
        for one, other in pairs:
            back = np.asarray(prior._turned_back(jnp.asarray(other), turn))
            np.testing.assert_allclose(back, one, rtol=1e-3, atol=1e-3)
            assert np.abs(other - one).max() > 0.01
        one, other = (prior._by_tiles(a, TOLD, 1, 2)[0] for a in (seen, turned))
        assert np.abs(np.asarray(prior._turned_back(jnp.asarray(other), turn)) - one).max() > 0.01

    @pytest.mark.slow
    def test_the_mean_of_all(self):
        seen = planes(32)

        def turned(turn):
            return np.asarray(prior._turned(jnp.asarray(seen), turn))

        one = [
            np.asarray(
                prior._turned_back(jnp.asarray(prior._by_tiles(turned(t), TOLD, 1, 2)[0]), t)
            )
            for t in range(8)
        ]
        for count in (3, 8):
            found = prior._by_tiles(seen, TOLD, count, 2)[0]
            np.testing.assert_allclose(found, np.mean(one[:count], axis=0), rtol=1e-3, atol=1e-3)

    @pytest.mark.parametrize(("m", "turns"), [(30, 8), (512, 8), (724, 4), (1_024, 2), (1_500, 1)])
    def test_large_grids_are_turned_less(self, m, turns, monkeypatch):
        asked = []

        def recording(planes, _told, turns, split):
            asked.append(turns)
            return np.ones((split * m,) * 2), np.zeros((m, m, 3))

        monkeypatch.setattr(prior, "_by_tiles", recording)
        monkeypatch.setattr(prior, "reconciled", lambda counts, *_: counts)
        cleaned(np.zeros((m, m), np.int64), turns=8)
        cleaned(np.zeros((m, m), np.int64), turns=1)
        assert asked == [turns, 1]

    @pytest.mark.parametrize("turns", [0, 9, 2.0, True, "8", None])
    @pytest.mark.usefixtures("unchecked")
    def test_other_numbers_are_refused(self, turns):
        with pytest.raises(InputError, match="turns must be"):
            Prior(turns)


class TestClean:
    @pytest.mark.parametrize("m", [1, 7, 16, 65])
    @pytest.mark.parametrize("noise", [1e-6, 1.0, 1e6])
    @pytest.mark.parametrize("n", [0, 10**9])
    @pytest.mark.parametrize("cell_m", [0.1, 2_000.0])
    def test_finite_never_negative_and_n_in_all(self, m, noise, n, cell_m):
        rng = np.random.default_rng(2)
        noisy = np.rint(rng.laplace(0, noise, (m, m))).astype(np.int64)
        noisy[m // 2, 0] += n
        found = cleaned(noisy, noise, max(1, 0.001 * n), cell_m, total=n)
        assert found.shape == (2 * m, 2 * m)
        assert np.isfinite(found).all()
        assert (found >= 0).all()
        assert found.sum() == pytest.approx(n, rel=1e-9)

    def test_without_noise_the_counts_come_out(self):
        noisy = np.random.default_rng(3).integers(0, 99, (30, 30))
        found = cleaned(noisy, noise=1e-9)
        np.testing.assert_allclose(
            block_sums(found, np.arange(30) * 2), noisy, rtol=1e-6, atol=1e-6
        )

    @pytest.mark.parametrize("noise", [2.0**-62, 1e-9])
    @pytest.mark.parametrize("sign", [1, -1])
    def test_no_count_is_too_large(self, noise, sign):
        """32 bits hold no square of 2**122 times the noise."""
        noisy = sign * (noisy_grid(7) + 2**60)
        found = cleaned(
            noisy, noise, smoothing=1e15, total=float(np.maximum(noisy, 0).sum(dtype=float))
        )
        cells = block_sums(found, np.arange(7) * 2)
        np.testing.assert_allclose(cells, np.maximum(noisy, 0), rtol=1e-9)

    def test_planes_are_told(self, monkeypatch):
        """The count, and what is known of both blocks; each changes what comes out."""
        seen, told = [], prior._by_tiles
        monkeypatch.setattr(prior, "_by_tiles", lambda *a: seen.append(a[0]) or told(*a))
        given = levels(noisy_grid(30))
        Prior(1).clean(given, 5.0, SIZES, 900)
        ((planes,)) = seen
        np.testing.assert_allclose(planes[..., 0], given.cells, rtol=1e-6)
        for at, part in ((1, given.small), (3, given.large)):
            cell = part.first[-1]
            sums, cells = part.sums[-1, 0], (30 - cell) * np.diff(part.first, append=30)[0]
            assert planes[cell, 0, at] == pytest.approx(
                sums / part.variance[-1, 0] ** 0.5, rel=1e-5
            )
            assert planes[cell, 0, at + 1] == pytest.approx(sums / cells, rel=1e-5)

    def test_a_very_fine_grid_is_left_whole(self, monkeypatch):
        monkeypatch.setattr(prior, "MAX_CELLS_PER_SIDE", 59)
        assert cleaned(noisy_grid(30)).shape == (30, 30)
        assert cleaned(noisy_grid(29)).shape == (58, 58)
