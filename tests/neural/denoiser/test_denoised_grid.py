"""DenoisedGrid as a builder: what it refuses, what the network is told, and what it releases."""

import numpy as np
import pytest

import snhkit as snh
from snhkit.errors import InputError
from snhkit.geometry import Grid, Points, RangeQueries, Region, exact_counts
from snhkit.neural import DenoisedGrid, Prior
from snhkit.neural.denoiser.prior_model import PriorModel

ONE = Prior(turns=1)


def released(records, builder, epsilon=1, **terms):
    options = {"unit": "record", "n": "public", "budget": 4 * 10**18} | terms
    return snh.PrivateDataset(records, **options).release(builder, epsilon=epsilon, seed=5)


def told(monkeypatch) -> list:
    """What the prior is asked to clean, from here on."""
    asked, clean = [], Prior.clean

    def recording(self, *given):
        asked.append(given)
        return clean(self, *given)

    monkeypatch.setattr(Prior, "clean", recording)
    return asked


@pytest.mark.parametrize("prior", [None, 8, Prior, {"turns": 8}], ids=str)
def test_a_prior_of_another_type_is_refused(prior):
    with pytest.raises(InputError, match="must be a Prior, not"):
        DenoisedGrid(prior=prior)


def test_the_default_averages_all_turns_on_cells_of_a_bought_width():
    assert DenoisedGrid() == DenoisedGrid("bought", (25.0, 100.0), Prior(turns=8))


class TestPrior:
    def test_what_it_is_told(self, records, monkeypatch):
        asked = told(monkeypatch)
        release = released(records, DenoisedGrid(50, (30, 90), prior=ONE), epsilon=0.5)
        ((noisy, noise, smoothing, cell_m, sizes_m),) = asked
        assert noisy.shape == (8, 8)
        assert noisy.dtype.kind == "i"
        assert (noise, smoothing, cell_m, sizes_m) == (2.0, 1.0, 50.0, (30.0, 90.0))
        assert isinstance(release.model, PriorModel)
        assert release.model.grid == Grid(records.region, 16)
        assert release.model.unit == 2 / 16

    def test_noise_is_that_of_a_person(self, records, monkeypatch):
        asked = told(monkeypatch)
        person = {"unit": "user", "max_per_user": 3}
        assert released(records, DenoisedGrid(50, prior=ONE), 0.5, **person).model.unit == 6 / 16
        assert asked[0][1] == 6.0

    def test_an_unknown_n_makes_a_little_more_noise(self, records, monkeypatch):
        asked = told(monkeypatch)
        release = released(records, DenoisedGrid(50, prior=ONE), 0.5, n="private")
        assert asked[0][1] == pytest.approx(2 / 0.95)
        assert release.n is not None

    def test_smoothing_is_a_thousandth_of_n(self, city, monkeypatch):
        asked = told(monkeypatch)
        xy = np.random.default_rng(1).uniform(0, 400, (5_000, 2))
        released(Points(city, xy), DenoisedGrid(50, prior=ONE))
        assert asked[0][2] == 5.0

    @pytest.mark.parametrize("epsilon", [10**6, 4 * 10**18])
    def test_without_noise_whole_cells_are_exact(self, records, epsilon):
        release = released(records, DenoisedGrid(50, prior=ONE), epsilon)
        cells = Grid(records.region, 8).boxes()
        counts = exact_counts(records, cells)
        np.testing.assert_allclose(release.answer(cells), counts, rtol=1e-6, atol=1e-5)

    def test_never_negative_and_nested_boxes_agree(self, records):
        release = released(records, DenoisedGrid(10, prior=ONE), 0.1)
        centre = np.random.default_rng(2).uniform(0, 400, (500, 2))
        sizes = np.linspace(1, 300, 40)
        boxes = [RangeQueries.squares(records.region, centre, side) for side in sizes]
        answers = np.array([release.answer(nested) for nested in boxes])
        assert (answers >= 0).all()
        assert (np.diff(answers, axis=0) >= 0).all()


@pytest.mark.parametrize(("known", "epsilon"), [("public", 0.1), ("private", 20)])
def test_the_whole_region_holds_n(known, epsilon):
    """A public one, however small epsilon; or a bought one, whose noise is of scale 1 here."""
    region = Region.around(lat=45, lon=7, side_m=1_000)
    spots = np.random.default_rng(0).uniform(300, 700, (40, 2))
    data = snh.PrivateDataset(
        Points(region, np.repeat(spots, 50, axis=0)), budget=100, unit="record", n=known
    )
    release = data.release(DenoisedGrid(prior=Prior(turns=1)), epsilon=epsilon)
    whole = RangeQueries(region, [0], [0], [1_000], [1_000])
    allowed = 25 + release.model.gap * (known == "public")
    assert release.answer(whole)[0] == pytest.approx(2_000, abs=allowed)
    assert release.model.additive().answer(whole)[0] == pytest.approx(2_000, abs=25)


def test_the_wider_the_boxes_the_less_the_prior_may_lead():
    """psi is 2 and noise 1; of boxes of 250 m on average, four times the usual, a quarter."""
    region = Region.around(lat=45, lon=7, side_m=1_000)
    spots = np.random.default_rng(0).uniform(300, 700, (2_000, 2))
    data = snh.PrivateDataset(Points(region, spots), budget=100, unit="record", n="public")
    for sizes_m, gap in {(25, 100): 3.0, (10, 30): 3.0, (200, 300): 0.75}.items():
        release = data.release(DenoisedGrid(40, sizes_m, Prior(turns=1)), epsilon=1)
        assert release.model.gap == pytest.approx(gap)
