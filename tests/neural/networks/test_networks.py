import numpy as np

from snhkit.geometry import Grid, RangeQueries, Region, SummedArea
from snhkit.neural import MLP, Networks


def test_who_watches_gets_models_that_answer():
    city = Region.around(lat=45, lon=7, side_m=400)
    table = SummedArea(Grid(city, 4), np.arange(16.0).reshape(4, 4))
    networks = Networks(k=1, network=MLP(2, 8), positions="aligned", steps=30)
    film = {}
    given = (table, 100.0, (25.0, 100.0), 1.0, 1.0, None)
    model = networks.learn(*given, watch=film.__setitem__)
    box = RangeQueries(city, [310], [310], [60], [60])
    assert list(film) == [0, 25, 30]
    assert film[30].answer(box) == model.answer(box) == networks.learn(*given).answer(box)
    assert film[0].answer(box) != model.answer(box)
