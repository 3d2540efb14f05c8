import numpy as np
import pytest

from snhkit.errors import InputError
from snhkit.geometry import Grid, Points, RangeQueries, Region, SummedArea
from snhkit.neural import MLP, FeatureGrid, Networks
from snhkit.neural.networks.networks import reconciled, start_map


def test_who_watches_gets_models_that_answer():
    city = Region.around(lat=45, lon=7, side_m=400)
    table = SummedArea(Grid(city, 4), np.arange(16.0).reshape(4, 4))
    networks = Networks(k=1, network=MLP(2, 8), positions="aligned", steps=30)
    film = {}
    given = (table, (25.0, 100.0), 1.0, 1.0, None)
    model = networks.learn(*given, watch=film.__setitem__)
    box = RangeQueries(city, [310], [310], [60], [60])
    assert list(film) == [0, 25, 30]
    assert film[30].answer(box) == model.answer(box) == networks.learn(*given).answer(box)
    assert film[0].answer(box) != model.answer(box)


CITY = Region.around(lat=45, lon=7, side_m=1_600)


def points(n: int) -> Points:
    return Points(CITY, np.random.default_rng(n).uniform(0, 1_600, (n, 2)))


@pytest.mark.parametrize(
    "changes",
    [
        {"network": "mlp"},
        {"network": MLP},
        {"network": MLP(100, 4096)},
        {"network": FeatureGrid((4096,) * 4)},
        {"k": 10**6},
        {"schedule": "linear"},
        {"positions": "anywhere"},
        {"scaling": ["area"]},
        {"output_scale": 0},
        {"workload_floor": -1},
    ],
    ids=str,
)
@pytest.mark.usefixtures("unchecked")
def test_what_cannot_be_trained_is_refused_at_once(changes):
    with pytest.raises(InputError):
        Networks(**changes)


@pytest.mark.parametrize(("learned", "total"), [(1.3, 1.03), (0.5, 0.97), (1.02, 1.02)])
def test_a_learned_map_sums_to_what_the_noisy_grid_sums_to(learned, total):
    """Within 3 %; what was too much goes where it was too much."""
    counts = np.random.default_rng(1).uniform(1, 9, (16, 16))
    table = SummedArea(Grid(CITY, 16), counts)
    changed = counts.copy()
    changed[:8] *= learned
    changed[8:] *= 2 - learned if learned > 1.1 else 1.0
    changed *= learned * counts.sum() / changed.sum()
    found = reconciled(changed.astype(np.float32), table)
    assert found.sum() / counts.sum() == pytest.approx(total, rel=1e-4)


def test_an_empty_grid_needs_no_reconciling():
    table = SummedArea(Grid(CITY, 16), np.zeros((16, 16)))
    assert not reconciled(np.zeros((16, 16), np.float32), table).any()


def test_without_noise_the_counts_come_out():
    counts = np.random.default_rng(0).poisson(2.0, (40, 40)).astype(float)
    np.testing.assert_allclose(start_map(counts, 1e-9), counts, atol=1e-9)


def test_noise_alone_is_smoothed_away():
    """Of 5 records a cell and noise of scale 3."""
    counts = 5 + np.random.default_rng(1).laplace(0, 3, (60, 60))
    found = start_map(counts, 3.0)
    assert np.std(found) < 0.5 * 3 * np.sqrt(2)
    assert found.mean() == pytest.approx(5, rel=0.05)
    assert np.std(start_map(counts, 0.3)) > 0.9 * 3 * np.sqrt(2)


def test_by_hand_where_one_cell_stands_out():
    """Three cells: of the spike's excess over the mean of all, 24, its variance leaves a part.

    Windows of 3 and more cover all cells or their mirror images; the noise has variance 2, of
    which 16 / 9 is what one cell has beside the mean of nine.
    """
    counts = np.zeros((9, 9))
    counts[4, 4] = 27.0
    found = start_map(counts, 1.0)
    fine = counts[4, 4] - 27 / 9
    # Eight cells around have 0 instead of 3.
    variance = (fine**2 + 8 * 9) / 9
    kept = 1 - (2 * 8 / 9) / variance
    # The mean of nine cells stands out of that of 81, which is 1 / 3, by 8 / 3.
    means = np.zeros((9, 9))
    means[3:6, 3:6] = 3.0
    wider = np.mean((means - 1 / 3) ** 2)
    by_noise = 2 * (1 / 9 - 1 / 81)
    assert found[4, 4] == pytest.approx(1 / 3 + (1 - by_noise / wider) * 8 / 3 + kept * fine)


def test_turned_it_comes_out_turned():
    counts = np.random.default_rng(2).gamma(0.3, 9, (31, 31))
    np.testing.assert_allclose(
        np.rot90(start_map(counts, 2.0)), start_map(np.rot90(counts), 2.0), rtol=1e-9
    )


def test_the_papers_network_learns_streets_in_a_region_of_13_km():
    """The counts are a wave of 1 km along either axis, without noise.

    The mean squared error after 200 steps is half the variance at most, as with coordinates from
    -1 to 1 it is not: a network with a span of 2 does not beat a constant.
    """
    town = Region.around(lat=45, lon=7, side_m=13_200)
    wave = np.sin(2 * np.pi * (np.arange(220) + 0.5) * 60 / 1_000)
    table = SummedArea(Grid(town, 220), 20 * (1 + 0.9 * np.outer(wave, wave)))
    networks = Networks.paper(
        k=1,
        network=MLP(depth=4, width=64),
        positions="scattered",
        steps=200,
        batch=1_024,
        learning_rate=0.003,
    )
    model = networks.learn(table, (62.5, 62.5), 20.0, 1.0, None)
    boxes = RangeQueries.sample(town, 500, (62.5, 62.5), seed=1)
    truth = table.sums(boxes)
    error = np.mean((model.answer(boxes) - truth) ** 2)
    assert error < 0.5 * truth.var()
    assert error < 0.1 * np.mean(truth**2)


def test_what_training_squares_are_cut_with(monkeypatch):
    """The noise is not clipped away for a map; other seeds expect other queries."""
    seen = []

    def first(given):
        seen.append(given)
        raise InterruptedError

    monkeypatch.setattr("snhkit.neural.networks.networks.scattered", first)
    table = SummedArea(Grid(CITY, 16), np.random.default_rng(0).poisson(2.0, (16, 16)) * 1.0)
    small = FeatureGrid((4,))
    for networks in (
        Networks(network=small, seed=1),
        Networks(network=small, seed=2, scaling="learned"),
        Networks(network=MLP(2, 8)),
        Networks(network=MLP(2, 8), clip_labels=False, output_scale=7.0),
    ):
        with pytest.raises(InterruptedError):
            networks.learn(table, (20.0, 100.0), 3.0, 1.5, points(9) if networks.seed else None)
    assert [given.clip for given in seen] == [False, False, True, False]
    assert [given.scale for given in seen] == [15.0, 15.0, 3.0, 7.0]
    assert [given.spread for given in seen] == [0.0, 5.0, 0.0, 0.0]
    assert [given.smoothing for given in seen] == [3.0] * 4
    one, other = (given.workload for given in seen[:2])
    assert (one.x != other.x).all()
    assert seen[2].workload is None
