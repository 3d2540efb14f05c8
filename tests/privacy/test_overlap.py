"""Public points that were taken from the private records are found; independent ones are not."""

import numpy as np
import pytest

from snhkit.builders import DAWA, UniformGrid
from snhkit.dataset import PrivateDataset
from snhkit.errors import InputError
from snhkit.geometry import Points, Region
from snhkit.privacy import PointSource
from snhkit.privacy.overlap import shares_records

CITY = Region.around(lat=45, lon=7, side_m=1_000)


def points(n: int, seed: int, step_m: float = 0.0) -> Points:
    xy = np.random.default_rng(seed).uniform(0, 999, (n, 2))
    return Points(CITY, np.floor(xy / step_m) * step_m if step_m else xy)


@pytest.mark.parametrize("kept", [15, 100, 2_000])
def test_a_copy_or_a_part_of_it_is_found_whatever_the_order(kept):
    records = points(2_000, 0)
    some = np.random.default_rng(1).permutation(2_000)[:kept]
    assert shares_records(PointSource(records), Points(CITY, records.xy[some]))


def test_a_copy_among_as_many_others_is_found():
    records, others = points(2_000, 0), points(1_500, 1)
    mixed = Points(CITY, np.concatenate([records.xy, others.xy]))
    assert shares_records(PointSource(records), mixed)


@pytest.mark.parametrize("step_m", [0, 1, 10, 20, 50, 200])
@pytest.mark.parametrize("n", [100, 2_500, 10_000])
def test_independent_points_pass_however_coarse_they_are(n, step_m):
    """At steps of 20 m and 2,500 records, a place has one record on average: the worst case."""
    assert not shares_records(PointSource(points(n, 0, step_m)), points(n, 1, step_m))


def test_few_or_no_points_pass():
    records = points(50, 0)
    assert not shares_records(PointSource(records), Points(CITY, records.xy[:14]))
    assert not shares_records(PointSource(records), Points(CITY, []))
    assert not shares_records(PointSource(Points(CITY, [])), records)


def test_a_dataset_refuses_its_own_records_as_public_points_before_anything_is_spent():
    records = points(500, 0)
    data = PrivateDataset(records, budget=1, unit="record")
    with pytest.raises(InputError, match=r"public: .* are records of this dataset"):
        data.release(UniformGrid(), epsilon=1, public=Points(CITY, records.xy[::-1]))
    assert data.ledger.entries == ()
    builder = DAWA(order=3, sizes_m=(20, 100))
    assert data.release(builder, epsilon=1, public=points(500, 1)).spends
