import numpy as np
import pytest

from snhkit.errors import InputError
from snhkit.geometry import Grid, Partition
from snhkit.models.partition_model import PartitionModel


@pytest.fixture
def model(city) -> PartitionModel:
    cells = Partition.split(Grid(city, 2), np.array([[1, 2], [3, 1]]))
    return PartitionModel(cells, np.arange(15.0))


def test_restored_it_is_the_same(model, city):
    again = PartitionModel.restore(city, model.arrays(), model.settings())
    boxes = model.cells().boxes()
    assert (again.answer(boxes) == model.answer(boxes)).all()


def test_a_file_must_hold_a_partition(model, city):
    arrays = model.arrays()
    over = arrays["edges"].copy()
    over[0] += 1
    for edges, values, match in (
        (over, arrays["values"], "gap, overlap, or reach out"),
        (arrays["edges"][:, :3], arrays["values"], r"shape \(c, 4\)"),
        (arrays["edges"], arrays["values"][1:], r"'values' shape \(c,\)"),
        (arrays["edges"][:0], arrays["values"][:0], "equal lengths"),
    ):
        with pytest.raises(InputError, match=match):
            PartitionModel.restore(city, {"edges": edges, "values": values}, {})
    with pytest.raises(InputError, match="'edges' and 'values'"):
        PartitionModel.restore(city, {"values": arrays["values"]}, {})
