"""SNH as a builder: what it refuses, what its parts are told, and what a file says of it."""

import dataclasses

import numpy as np
import pytest

import snhkit as snh
from snhkit.errors import InputError
from snhkit.geometry import Grid, Points, RangeQueries, Region, exact_counts
from snhkit.neural import MLP, SNH, FeatureGrid, Networks, Prior
from snhkit.neural.model import SNHModel
from snhkit.neural.prior_model import CleanedGrid, PriorModel
from snhkit.privacy import PrivacyUnit, ReplayableEntropy, exact
from snhkit.terms import Terms

TINY = Networks(k=2, network=FeatureGrid((8,), fine=16), batch=512, steps=3)
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


class TestSettings:
    def test_without_anything_that_learns(self):
        with pytest.raises(InputError, match="nothing learns"):
            SNH(prior=None)

    @pytest.mark.parametrize(
        "changes",
        [
            *({"prior": wrong} for wrong in (False, 8, Prior, TINY, {"turns": 8})),
            *({"networks": wrong} for wrong in (True, 8, MLP(), ONE)),
            {"prior": None, "networks": False},
        ],
        ids=str,
    )
    def test_parts_of_another_kind(self, changes):
        """Told at once: by the time they are used, epsilon is spent."""
        with pytest.raises(InputError, match=r"must be a (Prior|Networks) or None, not"):
            SNH(**changes)

    @pytest.mark.parametrize("sizes_m", [(0, 50), (50, 25), (25, float("inf")), (-5, 5)])
    def test_sizes(self, sizes_m):
        with pytest.raises(InputError, match="sizes_m"):
            SNH(sizes_m=sizes_m)

    @pytest.mark.parametrize("cell_m", [0, -1, float("nan"), "wide", True])
    def test_widths(self, cell_m):
        with pytest.raises(InputError, match="cell_m"):
            SNH(cell_m)

    def test_the_papers_are_the_papers(self):
        """Sec. 4 and 6.1: no prior, 20 layers of 80, k = 8, aligned squares, Adam at 0.001."""
        paper = SNH.paper(30, (25, 50), k=4)
        assert (paper.cell_m, paper.sizes_m, paper.prior) == (30, (25.0, 50.0), None)
        assert paper.networks == Networks(
            k=4, network=MLP(20, 80), positions="aligned", workload_floor=0, clip_labels=True,
            steps=10_000, batch=150_000, learning_rate=0.001,
        )  # fmt: skip
        assert SNH.paper() == SNH(None, (25, 100), None, Networks.paper())
        assert Networks.paper().k == 8
        with pytest.raises(TypeError, match="turns"):
            SNH.paper(turns=8)

    def test_the_default_is_the_whole_prior_alone(self):
        assert SNH() == SNH("bought", (25.0, 100.0), Prior(turns=8), None)


class TestPrior:
    def test_what_it_is_told(self, records, monkeypatch):
        asked = told(monkeypatch)
        release = released(records, SNH(50, (30, 90), prior=ONE), epsilon=0.5)
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
        assert released(records, SNH(50, prior=ONE), 0.5, **person).model.unit == 6 / 16
        assert asked[0][1] == 6.0

    def test_an_unknown_n_makes_a_little_more_noise(self, records, monkeypatch):
        asked = told(monkeypatch)
        release = released(records, SNH(50, prior=ONE), 0.5, n="private")
        assert asked[0][1] == pytest.approx(2 / 0.95)
        assert release.n is not None

    def test_smoothing_is_a_thousandth_of_n(self, city, monkeypatch):
        asked = told(monkeypatch)
        xy = np.random.default_rng(1).uniform(0, 400, (5_000, 2))
        released(Points(city, xy), SNH(50, prior=ONE))
        assert asked[0][2] == 5.0

    @pytest.mark.parametrize("epsilon", [10**6, 4 * 10**18])
    def test_without_noise_whole_cells_are_exact(self, records, epsilon):
        release = released(records, SNH(50, prior=ONE), epsilon)
        cells = Grid(records.region, 8).boxes()
        counts = exact_counts(records, cells)
        np.testing.assert_allclose(release.answer(cells), counts, rtol=1e-6, atol=1e-5)

    def test_never_negative_and_nested_boxes_agree(self, records):
        release = released(records, SNH(10, prior=ONE), 0.1)
        centre = np.random.default_rng(2).uniform(0, 400, (500, 2))
        sizes = np.linspace(1, 300, 40)
        boxes = [RangeQueries.squares(records.region, centre, side) for side in sizes]
        answers = np.array([release.answer(nested) for nested in boxes])
        assert (answers >= 0).all()
        assert (np.diff(answers, axis=0) >= 0).all()


class TestTogether:
    def test_networks_learn_from_the_cleaned_grid(self, records, monkeypatch):
        clean, asked = np.random.default_rng(3).uniform(0, 9, (16, 16)), []
        monkeypatch.setattr(Prior, "clean", lambda *_: CleanedGrid(clean, 0 * clean, 0.0))
        monkeypatch.setattr(Networks, "learn", lambda _, *given: asked.append(given))
        built = SNH(50, (30, 90), prior=ONE, networks=TINY)
        terms = Terms(exact("0.5"), PrivacyUnit("record"), ReplayableEntropy(1), 7_000, records)
        built.build(records, terms)
        ((table, *others),) = asked
        whole = RangeQueries(records.region, [0, 25], [0, 50], [400, 25], [400, 25])
        np.testing.assert_allclose(table.sums(whole), [clean.sum(), clean[1, 2]])
        # The width is that of the cells that were bought.
        assert others == [50.0, (30.0, 90.0), 7.0, 2.0, records]

    def test_alone_they_learn_from_the_noisy_one(self, records, monkeypatch):
        asked = told(monkeypatch)
        # As many cells as when the prior has cut others in four: one program for both tests.
        model = released(records, SNH(25, prior=None, networks=TINY), 10**6).model
        assert asked == []
        cells = Grid(records.region, 4).boxes()
        assert model.blocks.ravel().tolist() == exact_counts(records, cells).tolist()

    def test_both_make_a_model_of_networks(self, records):
        release = released(records, SNH(50, prior=ONE, networks=TINY), 10**6)
        assert isinstance(release.model, SNHModel)
        halves = RangeQueries(records.region, [0, 0], [0, 0], [400, 200], [400, 200])
        counts = exact_counts(records, halves)
        np.testing.assert_allclose(release.answer(halves), counts, rtol=1e-5)


def unchanged(noisy) -> CleanedGrid:
    return CleanedGrid(np.maximum(noisy, 0.0), np.zeros(noisy.shape), 0.0)


@pytest.mark.parametrize(
    ("prior", "networks"),
    [
        (ONE, None),
        (Prior(turns=np.int64(2)), TINY),
        (None, dataclasses.replace(TINY, network=MLP(3, 8), batch=np.int64(9))),
    ],
    ids=["prior", "both", "networks"],
)
def test_a_file_says_how_it_was_made(prior, networks, records, tmp_path, monkeypatch):
    monkeypatch.setattr(Prior, "clean", lambda _, noisy, *__: unchanged(noisy))
    monkeypatch.setattr(
        Networks,
        "learn",
        lambda _, table, *__: PriorModel.of(
            unchanged(table.table[1:, 1:]), table.table[1:, 1:], table.grid.region, 1, 1
        ),
    )
    builder = SNH(50, (30, 90), prior, networks)
    told = snh.load(released(records, builder).save(tmp_path / "city.snh")).hyperparameters
    parts = dict(told)
    if prior:
        parts["prior"] = Prior(**told["prior"])
    if networks:
        network = type(networks.network)(**told["networks"]["network"])
        parts["networks"] = Networks(**told["networks"] | {"network": network})
    assert SNH(**parts) == builder


@pytest.mark.parametrize(("known", "epsilon"), [("public", 0.1), ("private", 20)])
def test_the_whole_region_holds_n(known, epsilon):
    """A public one, however small epsilon; or a bought one, whose noise is of scale 1 here."""
    region = Region.around(lat=45, lon=7, side_m=1_000)
    spots = np.random.default_rng(0).uniform(300, 700, (40, 2))
    data = snh.PrivateDataset(
        Points(region, np.repeat(spots, 50, axis=0)), budget=100, unit="record", n=known
    )
    release = data.release(SNH(prior=Prior(turns=1)), epsilon=epsilon)
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
        release = data.release(SNH(40, sizes_m, Prior(turns=1)), epsilon=1)
        assert release.model.gap == pytest.approx(gap)
