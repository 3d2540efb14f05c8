import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snhkit import PrivateDataset
from snhkit.builders import PGM, Identity
from snhkit.builders.pgm import fitted
from snhkit.errors import InputError
from snhkit.geometry import RangeQueries, exact_counts

pytest.importorskip("mbi", reason="the extra pgm is not installed")


def projected(noisy: np.ndarray, total: float) -> np.ndarray:
    """Return the closest non-negative counts of a given sum, by lowering all counts equally."""
    falling = np.sort(noisy, axis=None)[::-1]
    lowering = (falling.cumsum() - total) / np.arange(1, noisy.size + 1)
    return np.maximum(noisy - lowering[falling > lowering][-1], 0)


def test_the_projection_by_hand():
    # Lowered by one, 7, 2 and -3 give 6, 1 and 0.
    assert projected(np.array([[7.0, -3], [2, 0]]), 7).tolist() == [[6, 0], [1, 0]]


@settings(max_examples=20)
@given(st.integers(0, 2**32), st.integers(1, 2_000))
def test_without_blocks_the_fit_is_the_projection(seed, total):
    rng = np.random.default_rng(seed)
    noisy = rng.poisson(40, (5, 5)) * rng.integers(0, 2, (5, 5)) + rng.integers(-9, 10, (5, 5))
    best = projected(noisy, total)
    found = fitted(noisy, total)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(total)
    lost, least = (((counts - noisy) ** 2).sum() for counts in (found, best))
    assert lost == pytest.approx(least, rel=2e-3, abs=0.5)


def test_with_blocks_the_fit_is_optimal():
    """The condition of optimality: moving mass between two cells does not improve the fit."""
    rng = np.random.default_rng(2)
    noisy = rng.poisson(30, (16, 16)) * (rng.random((16, 16)) < 0.3) + rng.integers(
        -9, 10, (16, 16)
    )
    found = fitted(noisy, 1_500, blocks=(4,))
    excess = found - noisy
    blocks = excess.reshape(4, 4, 4, 4).sum(axis=(1, 3)).repeat(4, axis=0).repeat(4, axis=1)
    slope = excess + blocks / 4**0.5
    level = slope[found > 1].mean()
    np.testing.assert_allclose(slope[found > 1], level, atol=0.5)
    assert (slope > level - 0.5).all()
    assert (found > 1).sum() > 30


@pytest.mark.parametrize("n_public", [True, False])
def test_counts_are_non_negative_and_add_up(records, n_public):
    data = PrivateDataset(records, budget=1, unit="record", n_public=n_public)
    release = data.release(PGM(), epsilon="0.5")
    values = release.model.arrays()["values"]
    assert values.min() >= 0
    assert values.sum() == pytest.approx(release.n)


def test_without_n_counts_add_up_to_the_noisy_total(records):
    release = PrivateDataset(records, budget=100, unit="record").release(PGM(50), epsilon=100)
    assert release.n is None
    assert release.model.arrays()["values"].sum() == pytest.approx(300, abs=5)  # sd 0.1


def test_cells_fill_whole_blocks(records):
    data = PrivateDataset(records, budget=10, unit="record", n_public=True)
    for cell_m, side in ((400 / 17, 20), (400 / 15, 15), (400 / 16, 16), (400 / 65, 80)):
        assert data.release(PGM(cell_m), epsilon=1).model.cells().m == side


def test_a_total_of_zero_gives_zeros(records):
    assert (fitted(np.array([[5, -2], [0, 1]]), 0) == 0).all()


def test_too_many_cells_are_refused_before_payment(records):
    data = PrivateDataset(records, budget=1, unit="record", n_public=True)
    with pytest.raises(
        InputError, match=r"4,000 cells per side, more than the 1,024 .* cell_m 0.391 or"
    ):
        data.release(PGM(0.1), epsilon=1)
    assert data.ledger.entries == ()


def test_a_missing_package_is_named_before_payment(records, monkeypatch):
    monkeypatch.setattr("snhkit.builders.base.find_spec", lambda name: None)
    data = PrivateDataset(records, budget=1, unit="record", n_public=True)
    with pytest.raises(InputError, match=r'mbi is not installed: pip install "snhkit\[pgm\]"'):
        data.release(PGM(), epsilon=1)
    assert data.ledger.entries == ()


def test_the_default_width_is_limited(released, records, monkeypatch):
    monkeypatch.setattr("snhkit.builders.pgm._MAX_CELLS_PER_SIDE", 16)  # 32 would be wanted
    assert released(records, PGM(), 1_000_000).model.cells().m == 16


@pytest.mark.parametrize("side_m", [20, 150])
def test_the_fit_has_a_smaller_error_than_the_noisy_grid(records, side_m):
    """The error is at least a tenth smaller, on the same ten draws of noise."""
    rng = np.random.default_rng(4)
    x, y = rng.uniform(0, 400 - side_m, (2, 500))
    boxes = RangeQueries(records.region, x, y, np.full(500, side_m), np.full(500, side_m))
    data = PrivateDataset(records, budget=100, unit="record", n_public=True)
    plain, better = (
        np.mean(
            [
                np.abs(data.release(builder, epsilon="0.2", seed=seed).answer(boxes) - truth).mean()
                for truth in [exact_counts(records, boxes)]
                for seed in range(10)
            ]
        )
        for builder in (Identity(10), PGM(10))
    )
    assert better < 0.9 * plain
