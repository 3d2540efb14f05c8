import numpy as np
import pytest

from snhkit.errors import InputError
from snhkit.geometry import Grid, RangeQueries, Region, SummedArea
from snhkit.neural import MLP, FeatureGrid, Networks
from snhkit.neural.networks.networks import reconciled


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
