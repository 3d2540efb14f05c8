"""SNH as a builder: what it refuses, what its parts are told, and what a file says of it."""

import dataclasses

import numpy as np
import pytest

import snhkit as snh
from snhkit.errors import InputError
from snhkit.geometry import Grid, RangeQueries, exact_counts
from snhkit.models import PackedGridModel
from snhkit.neural import MLP, SNH, FeatureGrid, Networks, Prior
from snhkit.neural.networks.model import SNHModel
from snhkit.privacy import (
    Measurements,
    PointSource,
    PrivacyUnit,
    ReplayableEntropy,
    Terms,
    exact,
)

TINY = Networks(k=2, network=FeatureGrid((8,)), batch=512, steps=3)
ONE = Prior(turns=1)


class TestSettings:
    @pytest.mark.parametrize(
        "changes",
        [
            *({"prior": wrong} for wrong in (False, 8, Prior, TINY, {"turns": 8})),
            *({"networks": wrong} for wrong in (None, True, 8, MLP(), ONE)),
        ],
        ids=str,
    )
    @pytest.mark.usefixtures("unchecked")
    def test_parts_of_another_kind(self, changes):
        """Told at once: by the time they are used, epsilon is spent."""
        with pytest.raises(InputError, match=r"must be a (Prior or None|Networks), not"):
            SNH(**changes)

    @pytest.mark.parametrize("sizes_m", [(0, 50), (50, 25), (25, float("inf")), (-5, 5)])
    def test_sizes(self, sizes_m):
        with pytest.raises(InputError, match="sizes_m"):
            SNH(sizes_m=sizes_m)

    def test_the_papers_are_the_papers(self):
        """Sec. 4 and 6.1: 20 swish layers of 80, k = 8, aligned squares, Adam at 0.001."""
        paper = SNH.paper(30, (25, 50), k=4)
        assert (paper.cell_m, paper.sizes_m, paper.prior) == (30, (25.0, 50.0), None)
        assert paper.networks == Networks(
            k=4, network=MLP(22, 80), positions="aligned", workload_floor=0, clip_labels=True,
            steps=10_000, batch=150_000, learning_rate=0.001, schedule="constant", output_scale=1,
        )  # fmt: skip
        assert SNH.paper() == SNH("auto", (25, 100), Networks.paper())
        assert Networks.paper().k == 8
        with pytest.raises(TypeError, match="turns"):
            SNH.paper(turns=8)

    def test_too_many_squares_are_refused_before_anything_is_paid_for(self, records):
        books = snh.PrivateDataset(records, unit="record", n_public=True, budget=1)
        with pytest.raises(InputError, match="larger cell_m, or networks"):
            books.release(SNH.paper(cell_m=0.1), epsilon=1)
        assert books.ledger.entries == ()

    def test_the_default_trains_an_encoder_on_the_noisy_grid(self):
        assert SNH() == SNH(None, (25.0, 100.0), Networks(), None)
        assert isinstance(SNH().networks.network, FeatureGrid)


class TestTogether:
    def test_networks_learn_from_the_cleaned_grid(self, records, monkeypatch):
        clean, asked = np.random.default_rng(3).uniform(0, 9, (8, 8)), []
        monkeypatch.setattr(Prior, "clean", lambda *_: clean)
        monkeypatch.setattr(Networks, "learn", lambda _, *given: asked.append(given))
        built = SNH(50, (30, 90), prior=ONE, networks=TINY)
        terms = Terms(exact("0.5"), PrivacyUnit("record"), 7_000, records)
        private = Measurements(PointSource(records), terms, ReplayableEntropy(1))
        built.build(private)
        ((table, *others),) = asked
        whole = RangeQueries(records.region, [0, 50], [0, 100], [400, 50], [400, 50])
        np.testing.assert_allclose(table.sums(whole), [clean.sum(), clean[1, 2]])
        # Little noise is left in what the prior has cleaned.
        assert others == [(30.0, 90.0), 7.0, 0.0, records]

    def test_alone_they_learn_from_the_noisy_one(self, released, records, told):
        model = released(records, SNH(50, networks=TINY), 10**6).model
        assert told == []
        cells = Grid(records.region, 4).boxes()
        np.testing.assert_allclose(model.blocks.ravel(), exact_counts(records, cells), rtol=1e-3)

    def test_both_make_a_model_of_networks(self, released, records):
        release = released(records, SNH(50, prior=ONE, networks=TINY), 10**6)
        assert isinstance(release.model, SNHModel)
        halves = RangeQueries(records.region, [0, 0], [0, 0], [400, 200], [400, 200])
        counts = exact_counts(records, halves)
        np.testing.assert_allclose(release.answer(halves), counts, rtol=1e-3)


class TestTheMap:
    """Its cells are those of the noisy grid, so nothing is smeared over neighbours."""

    def test_a_point_mass_stays_in_its_cell(self, released, records):
        grid = Grid.of_width(records.region, 50)
        crowd = snh.Points(records.region, np.full((100_000, 2), 3.5 * grid.cell_m))
        release = released(crowd, SNH(50, networks=TINY), 10**6)
        assert release.model.cells() == grid
        counts = release.answer(grid.boxes()).reshape(grid.m, grid.m)
        assert counts[3, 3] == pytest.approx(100_000, rel=0.01)
        counts[3, 3] = 0
        assert np.abs(counts).max() < 100
        polygons = release.cells()["count"].to_numpy()
        assert np.sort(polygons)[-2] < 100 < np.sort(polygons)[-1]

    def test_more_cells_than_it_may_have_are_refused_or_not_chosen(self, monkeypatch, records):
        """The bound is 2,048 cells a side; the paper's network has no map, and no such bound."""
        data = snh.PrivateDataset(records, unit="record", n_public=True, budget=1)
        with pytest.raises(InputError, match=r"more than the 2,048 .* make cell_m 0.195 or more"):
            data.release(SNH(0.1), epsilon=1)
        assert data.ledger.entries == ()
        asked = []
        monkeypatch.setattr("snhkit.neural.snh._MOST_MAP_CELLS", 5)
        monkeypatch.setattr(Networks, "learn", lambda _, table, *__: asked.append(table.grid.m))
        terms = Terms(exact("0.5"), PrivacyUnit("record"), 7_000, None)
        SNH().build(Measurements(PointSource(records), terms, ReplayableEntropy(1)))
        assert asked == [5]


@pytest.mark.parametrize(
    ("prior", "networks"),
    [
        (Prior(turns=np.int64(2)), TINY),
        (None, dataclasses.replace(TINY, network=MLP(3, 8), batch=np.int64(9))),
    ],
    ids=["both", "networks"],
)
@pytest.mark.usefixtures("unchecked")
def test_a_file_says_how_it_was_made(released, prior, networks, records, tmp_path, monkeypatch):
    monkeypatch.setattr(Prior, "clean", lambda _, levels, *__: np.abs(levels.cells))
    monkeypatch.setattr(
        Networks,
        "learn",
        lambda _, table, *__: PackedGridModel.of(table.grid.region, np.ones((2, 2)), 1.0, 9),
    )
    builder = SNH(50, (30, 90), networks, prior)
    told = snh.load(released(records, builder).save(tmp_path / "city.snh")).hyperparameters
    parts = dict(told)
    if prior:
        parts["prior"] = Prior(**told["prior"])
    network = type(networks.network)(**told["networks"]["network"])
    parts["networks"] = Networks(**told["networks"] | {"network": network})
    assert SNH(**parts) == builder
