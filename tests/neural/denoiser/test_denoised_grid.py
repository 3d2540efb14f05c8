"""DenoisedGrid as a builder: what it refuses, what the network is told, and what it releases."""

import numpy as np
import pytest

import snhkit as snh
from snhkit.errors import InputError
from snhkit.geometry import Grid, Points, RangeQueries, Region, exact_counts
from snhkit.models import PackedGridModel
from snhkit.neural import DenoisedGrid, Prior
from snhkit.neural.denoiser import levels

ONE = Prior(turns=1)


@pytest.mark.parametrize("prior", [None, 8, Prior, {"turns": 8}], ids=str)
@pytest.mark.usefixtures("unchecked")
def test_a_prior_of_another_type_is_refused(prior):
    with pytest.raises(InputError, match="must be a Prior, not"):
        DenoisedGrid(prior=prior)


def test_the_default_averages_two_turns_on_cells_of_a_bought_width():
    assert DenoisedGrid() == DenoisedGrid(None, (25.0, 100.0), None, Prior(turns=2))


@pytest.mark.parametrize("coarse", [-1, 1, "half", True])
@pytest.mark.usefixtures("unchecked")
def test_shares_that_are_none_are_refused(coarse):
    with pytest.raises(InputError, match="coarse must be a fraction of epsilon"):
        DenoisedGrid(coarse=coarse)
    with pytest.raises(InputError, match="pool must be a fraction"):
        DenoisedGrid(pool=coarse)


class TestPrior:
    def test_what_it_is_told(self, released, records, told):
        release = released(records, DenoisedGrid(50, (30, 90), 0.5, ONE), epsilon=0.5)
        ((levels, smoothing, sizes_m, total),) = told
        assert levels.cells.shape == (8, 8)
        assert (levels.noise_scale, smoothing, sizes_m) == (4.0, 1.0, (30.0, 90.0))
        assert (levels.cells * 4 == np.rint(levels.cells * 4)).all()
        assert total == len(records)
        assert isinstance(release.model, PackedGridModel)
        assert release.model.grid == Grid(records.region, 16)
        assert release.model.unit == pytest.approx(4 / 16, rel=0.01)

    def test_each_level_is_an_entry_of_the_ledger(self, released, records):
        release = released(records, DenoisedGrid(10, coarse=0.2, prior=ONE), epsilon=1)
        told = [(str(s.epsilon), s.what) for s in release.spends]
        assert told == [
            ("7/50", "count of one cell"),
            ("3/50", "counts of 9 cells"),
            ("4/5", "counts of 1,600 cells"),
        ]

    def test_the_default_share_is_that_of_n_and_epsilon(self, released, records):
        release = released(records, DenoisedGrid(50, prior=ONE), epsilon=1)
        share = levels.coarse_share(len(records), 1.0)
        assert float(release.spends[-1].epsilon) == pytest.approx(1 - share, abs=5e-4)

    def test_noise_is_that_of_a_person(self, released, records, told):
        person = {"unit": "user", "max_per_user": 3}
        released(records, DenoisedGrid(50, coarse=0, prior=ONE), 0.5, **person)
        assert told[0][0].noise_scale == 6.0

    def test_an_unknown_n_makes_a_little_more_noise(self, released, records, told):
        release = released(records, DenoisedGrid(50, coarse=0, prior=ONE), 0.5, n_public=False)
        assert told[0][0].noise_scale == pytest.approx(2 / 0.95)
        assert told[0][3] == release.n

    def test_smoothing_is_a_thousandth_of_n(self, released, city, told):
        xy = np.random.default_rng(1).uniform(0, 400, (5_000, 2))
        released(Points(city, xy), DenoisedGrid(50, prior=ONE))
        assert told[0][1] == 5.0

    @pytest.mark.parametrize("epsilon", [10**6, 4 * 10**18])
    def test_without_noise_whole_cells_are_exact(self, released, records, epsilon):
        release = released(records, DenoisedGrid(50, prior=ONE), epsilon)
        cells = Grid(records.region, 8).boxes()
        counts = exact_counts(records, cells)
        np.testing.assert_allclose(release.answer(cells), counts, rtol=1e-6, atol=1e-5)

    def test_never_negative_and_nested_boxes_agree(self, released, records):
        release = released(records, DenoisedGrid(10, prior=ONE), 0.1)
        centre = np.random.default_rng(2).uniform(0, 400, (500, 2))
        sizes = np.linspace(1, 300, 40)
        boxes = [RangeQueries.squares(records.region, centre, side) for side in sizes]
        answers = np.array([release.answer(nested) for nested in boxes])
        assert (answers >= 0).all()
        assert (np.diff(answers, axis=0) >= 0).all()


@pytest.mark.parametrize(("known", "epsilon"), [(True, 0.1), (False, 20)])
def test_the_whole_region_holds_n(known, epsilon):
    """A public one, however small epsilon; or a bought one, whose noise is of scale 1 here."""
    region = Region.around(lat=45, lon=7, side_m=1_000)
    spots = np.random.default_rng(0).uniform(300, 700, (40, 2))
    data = snh.PrivateDataset(
        Points(region, np.repeat(spots, 50, axis=0)), budget=100, unit="record", n_public=known
    )
    release = data.release(DenoisedGrid(prior=Prior(turns=1)), epsilon=epsilon)
    assert release.n is not None
    for side_m in (1_000, 100, 25, 7):
        cells = Grid(region, -(-1_000 // side_m)).boxes()
        assert release.answer(cells).sum() == pytest.approx(release.n, rel=1e-9)
    assert release.n == (2_000 if known else pytest.approx(2_000, abs=25))


@pytest.mark.parametrize(("sizes_m", "least"), [((25, 100), 12.5), ((50, 60), 25)])
def test_cells_are_no_narrower_than_boxes_gain_from(released, sizes_m, least, city):
    """At an epsilon that would pay for cells of 5 m; a given width is taken as given."""
    spots = Points(city, np.random.default_rng(0).uniform(0, 400, (9_000, 2)))
    release = released(spots, DenoisedGrid(sizes_m=sizes_m, prior=ONE), epsilon=10**6)
    assert release.model.grid.m == 2 * 400 / least
    assert released(spots, DenoisedGrid(5, sizes_m, prior=ONE)).model.grid.m == 160
