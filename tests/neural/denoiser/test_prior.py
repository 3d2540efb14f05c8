"""Tiles, turns and limits of the prior; with weights that mean nothing, whatever is shipped."""

from importlib import resources

import jax
import numpy as np
import pytest
from safetensors.numpy import load

from snhkit.errors import InputError
from snhkit.neural import Prior
from snhkit.neural.denoiser import prior
from snhkit.neural.denoiser.denoiser import start

SHAPES = jax.eval_shape(start, jax.random.key(0))
ABOUT = np.array([1, -0.5, 0.5, 1, -2], np.float32)
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


def grid_of(noisy, noise=2.0, smoothing=5.0, cell_m=40.0, sizes_m=SIZES, turns=1):
    return Prior(turns).clean(noisy, noise, smoothing, cell_m, sizes_m)


def cleaned(noisy, **given):
    return grid_of(noisy, **given).counts


def planes(noisy, **given):
    """Counts and presence, turned and mirrored alike."""
    return grid_of(noisy, **given)[:2]


def in_cells(clean, m):
    split = len(clean) // m
    return clean.reshape(m, split, m, split).sum(axis=(1, 3))


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
        assert len(shipped) < 2**20

    def test_they_are_read_as_they_lie_there(self, monkeypatch):
        monkeypatch.undo()
        shipped = shipped_file()
        for name, array in load(shipped).items():
            layer, part = name.split(".")
            assert (np.asarray(prior._weights()[layer][part]) == array).all()


class TestTiles:
    @pytest.mark.parametrize("m", [33, 38, 47, 48])
    def test_pieces_are_the_whole(self, m, monkeypatch):
        """Nine of 16 cells a side; or one of 48."""
        grid = noisy_grid(m) / 2
        whole, level = prior._by_tiles(grid, ABOUT, 2)
        monkeypatch.setattr(prior, "_TILE", 16)
        assert whole.shape == (2, 2 * m, 2 * m)
        pieces, told = prior._by_tiles(grid, ABOUT, 2)
        np.testing.assert_allclose(pieces, whole, rtol=1e-4, atol=1e-4)
        assert told == pytest.approx(level, rel=1e-6)

    def test_nothing_matters_beyond_the_margin(self):
        """From the last cell of a tile; but for what rounding does to local means."""
        grid = np.zeros((16 + prior._MARGIN,) * 2)
        grid[16 + prior._MARGIN - 1 :] = grid[:, 16 + prior._MARGIN - 1 :] = 1e3
        near, far = (prior._by_tiles(g, ABOUT, 2)[0] for g in (0 * grid, grid))
        np.testing.assert_allclose(far[:, :32, :32], near[:, :32, :32], atol=1e-4)
        assert np.abs(far[:, 32:48, 32:48] - near[:, 32:48, 32:48]).max() > 0.01

    @pytest.mark.parametrize("m", [1, 7, 16, 17, 64, 65, 100, 513, 700, 1_100])
    @pytest.mark.parametrize("split", [1, 2])
    def test_each_piece_is_put_where_it_came_from(self, m, split, monkeypatch):
        def spread(_weights, noisy, _about):
            return np.repeat(np.repeat(noisy / 4, 2, axis=1), 2, axis=2), 3 * noisy, [7.0]

        monkeypatch.setattr(prior, "_denoise", spread)
        grid = np.random.default_rng(m).integers(0, 999, (m, m)).astype(float)
        (counts, presence), level = prior._by_tiles(grid, ABOUT, split)
        assert (counts == np.repeat(np.repeat(grid, split, 0), split, 1) / split**2).all()
        assert (presence == 3 * counts).all()
        assert level == 7.0

    def test_few_shapes_are_compiled(self, monkeypatch):
        seen = set()

        def recording(_weights, noisy, _about):
            seen.add(noisy.shape)
            counts = np.zeros((1, 2 * noisy.shape[1], 2 * noisy.shape[2]), np.float32)
            return counts, np.zeros_like(noisy), [0.0]

        monkeypatch.setattr(prior, "_denoise", recording)
        for m in [*range(1, 80, 5), *range(80, 1_200, 31)]:
            prior._by_tiles(np.zeros((m, m)), ABOUT, 1)
        assert len(seen) <= 12
        assert all(rows == columns <= 512 + 2 * prior._MARGIN for _, rows, columns in seen)
        assert all(rows % 8 == 0 for _, rows, _ in seen)

    def test_one_program_for_all_small_grids(self):
        cleaned(noisy_grid(16))
        before = prior._denoise._cache_size()
        for m in (1, 7, 12):
            cleaned(noisy_grid(m))
        assert prior._denoise._cache_size() == before


@pytest.mark.parametrize(("zoom", "same"), [(10, True), (0.5, False)])
def test_a_city_with_wider_boxes_than_were_taught_is_a_smaller_one(zoom, same):
    noisy = noisy_grid(16)
    known = cleaned(noisy, cell_m=80.0, sizes_m=(100.0, 400.0))
    found = cleaned(noisy, cell_m=80.0 * zoom, sizes_m=(100.0 * zoom, 400.0 * zoom))
    assert np.allclose(found, known) == same


class TestTurns:
    def test_there_are_eight_and_each_is_undone(self):
        grid = noisy_grid(5)
        turned = [prior._turned(grid, turn) for turn in range(8)]
        assert len({a.tobytes() for a in turned}) == 8
        for turn, a in enumerate(turned):
            assert (prior._turned_back(a, turn) == grid).all()

    @pytest.mark.parametrize("turn", range(1, 8))
    def test_a_turned_grid_comes_out_turned(self, turn):
        """Where blocks of half the grid are the same from all sides; and it is no other grid."""
        grid = noisy_grid(16)
        pairs = zip(planes(grid, turns=8), planes(prior._turned(grid, turn), turns=8), strict=True)
        for one, other in pairs:
            np.testing.assert_allclose(prior._turned_back(other, turn), one, rtol=1e-9)
            assert (other != one).any()
        one, other = cleaned(grid), cleaned(prior._turned(grid, turn))
        assert np.abs(prior._turned_back(other, turn) - one).max() > 0.01

    @pytest.mark.parametrize("m", [5, 13])
    def test_mirrored_at_the_diagonal_any_grid_comes_out_so(self, m):
        grid = noisy_grid(m)
        for one, other in zip(planes(grid, turns=8), planes(grid.T, turns=8), strict=True):
            np.testing.assert_allclose(other.T, one, rtol=1e-9)

    def test_the_mean_of_all(self, monkeypatch):
        monkeypatch.setattr(prior, "reconciled", lambda clean, *_: clean)
        grid = noisy_grid(13)
        turns = [prior._turned_back(cleaned(prior._turned(grid, t)), t) for t in range(8)]
        for count in (3, 8):
            found = cleaned(grid, turns=count)
            np.testing.assert_allclose(found, np.mean(turns[:count], axis=0), rtol=1e-9)

    @pytest.mark.parametrize("turns", [0, 9, 2.0, True, "8", None])
    def test_other_numbers_are_refused(self, turns):
        with pytest.raises(InputError, match="turns must be"):
            Prior(turns)


class TestClean:
    def test_without_an_opinion_the_level_is_between_noise_and_psi(self, monkeypatch):
        drawn = prior._weights()
        without = drawn | {"level": jax.tree.map(np.zeros_like, drawn["level"])}
        monkeypatch.setattr(prior, "_weights", lambda: without)
        assert grid_of(noisy_grid(5), noise=2.0, smoothing=8.0).level == pytest.approx(4)

    @pytest.mark.parametrize("m", [1, 7, 16, 65])
    @pytest.mark.parametrize("noise", [1e-6, 1.0, 1e6])
    @pytest.mark.parametrize("n", [0, 10**9])
    @pytest.mark.parametrize("cell_m", [0.1, 10_000.0])
    def test_finite_and_never_negative(self, m, noise, n, cell_m):
        rng = np.random.default_rng(2)
        noisy = np.rint(rng.laplace(0, noise, (m, m))).astype(np.int64)
        noisy[m // 2, 0] += n
        found = grid_of(noisy, noise, max(1, 0.001 * n), cell_m)
        assert found.counts.shape == found.presence.shape == (2 * m, 2 * m)
        for part in found:
            assert np.isfinite(part).all()
            assert (np.asarray(part) >= 0).all()

    @pytest.mark.parametrize("noise", [2.0**-62, 1e-9])
    @pytest.mark.parametrize("sign", [1, -1])
    def test_no_count_is_too_large(self, noise, sign):
        """32 bits hold no square of 2**122 times the noise."""
        noisy = sign * (noisy_grid(7) + 2**60)
        found = in_cells(cleaned(noisy, noise=noise, smoothing=1e15), 7)
        np.testing.assert_allclose(found, np.maximum(noisy, 0), rtol=1e-12)

    @pytest.mark.parametrize("m", [1, 7, 16])
    def test_without_noise_each_cell_is_exact(self, m):
        noisy = np.maximum(noisy_grid(m), 0)
        found = cleaned(noisy, noise=1e-6)
        np.testing.assert_allclose(in_cells(found, m), noisy, rtol=1e-7, atol=1e-5)

    def test_the_unit_matters_where_counts_are_few(self):
        """16 times as many records with 16 times the noise are not the same: noise is told."""
        noisy = noisy_grid(13)
        found = cleaned(16 * noisy, noise=32.0, smoothing=80.0)
        assert np.abs(found / 16 - cleaned(noisy)).max() > 1e-3

    def test_noise_smoothing_cells_and_sizes_are_told(self):
        noisy, one = noisy_grid(13), cleaned(noisy_grid(13))
        for changes in ({"smoothing": 9.0}, {"cell_m": 60.0}, {"sizes_m": (25, 200)}):
            assert np.abs(cleaned(noisy, **changes) - one).max() > 1e-3

    def test_what_was_never_seen_counts_as_the_outermost_that_was(self):
        noisy = noisy_grid(13)
        for one, other in [
            ({"smoothing": 1e4}, {"smoothing": 1e9}),
            ({"smoothing": 0.01}, {"smoothing": 1e-9}),
            ({"cell_m": 800.0, "sizes_m": (800, 800)}, {"cell_m": 1e4, "sizes_m": (1e4, 1e4)}),
            ({"cell_m": 1.0, "sizes_m": (1, 1)}, {"cell_m": 0.1, "sizes_m": (0.1, 0.1)}),
            ({"sizes_m": (2e3, 2e3)}, {"sizes_m": (2e3, 9e9)}),
        ]:
            assert (cleaned(noisy, **one) == cleaned(noisy, **other)).all()

    def test_a_very_fine_grid_is_left_whole(self, monkeypatch):
        noisy = noisy_grid(13)
        quarters = planes(noisy)
        monkeypatch.setattr(prior, "MOST_CELLS", 25)
        for whole, cut in zip(planes(noisy), quarters, strict=True):
            assert whole.shape == (13, 13)
            np.testing.assert_allclose(whole, in_cells(cut, 13), rtol=1e-5)
        monkeypatch.setattr(prior, "MOST_CELLS", 26)
        assert (cleaned(noisy) == quarters[0]).all()
