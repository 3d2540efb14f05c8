import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
import shapely

from snhkit import load
from snhkit.builders import Identity
from snhkit.dataset import PrivateDataset
from snhkit.errors import InputError
from snhkit.geometry import Grid, RangeQueries, Region
from snhkit.models.grid_model import GridModel
from snhkit.privacy import PrivacyUnit, Spend, exact
from snhkit.release import Release
from snhkit.release.estimates import Estimates, estimates


@pytest.fixture
def identity(records) -> Release:
    data = PrivateDataset(records, budget=1, unit="record", n_public=True)
    return data.release(Identity(30), epsilon="0.2")


def told(city, **changes) -> Release:
    fifth = exact("0.2")
    parts = {
        "method": "Identity",
        "hyperparameters": {"cell_m": 200.0},
        "epsilon": fifth,
        "unit": PrivacyUnit("user", 5),
        "n": 6,
        "replayable": False,
        "spends": (Spend(fifth, "counts of 4 cells", "parallel"),),
        "model": GridModel(Grid(city, 2), np.array([[1, 2], [3, 4]])),
    }
    return Release(**(parts | changes))


class TestCard:
    def test_it_tells_what_a_reader_must_know(self, city):
        assert told(city).card() == {
            "Method": "Identity",
            "Privacy": "epsilon = 0.2, hides all (at most 5) records of one person",
            "Paid for": "0.2 for counts of 4 cells, in parallel",
            "Region": "400 m square around 45.00000, 7.00000",
            "Settings": "cell_m = 200.0",
        }
        assert repr(told(city)).splitlines()[0] == "Method    Identity"

    def test_snh_on_a_denoised_grid_says_so(self, city):
        release = told(city, method="SNH", hyperparameters={"prior": {"turns": 8}})
        assert release.card()["Method"] == "SNH, trained on a denoised grid"
        release = told(city, method="SNH", hyperparameters={"prior": None})
        assert release.card()["Method"] == "SNH"

    def test_noise_from_a_seed_is_warned_of(self, city):
        for text in (repr(told(city, replayable=True)), told(city, replayable=True)._repr_html_()):
            assert "replayable" in text
            assert "not to publish" in text
        assert "replayable" not in repr(told(city))

    def test_delta_is_said_beside_epsilon(self, city):
        spends = (Spend(exact(1), "a"), Spend(exact(1), "b", delta=exact("1e-6")))
        release = told(city, epsilon=exact(2), spends=spends, delta=exact("1e-6"))
        assert release.delta == exact("1e-6")
        assert release.card()["Privacy"].startswith("epsilon = 2, delta = 0.000001, hides all")
        assert release.card()["Paid for"] == "1 for a; 1 (delta = 0.000001) for b"

    @pytest.mark.parametrize(
        ("epsilon", "cautioned"), [("10", False), ("10.5", True), ("5000", True)]
    )
    def test_a_large_epsilon_is_cautioned_of_in_plain_words(self, city, epsilon, cautioned):
        price = exact(epsilon)
        card = told(city, epsilon=price, spends=(Spend(price, "cells"),)).card().get("Caution", "")
        assert bool(card) == cautioned
        if cautioned:
            assert card.startswith(
                f"epsilon = {epsilon} protects almost nothing: a result may be e^"
            )

    def test_html_is_escaped(self, city):
        evil = "<script>alert('1')</script>"
        spends = (Spend(exact(1), evil),)
        release = told(city, method=evil, hyperparameters={evil: evil}, spends=spends)
        page = release._repr_html_()
        assert "<script" not in page
        assert page.count("&lt;script&gt;") == 4
        assert "<caption>Release</caption>" in page

    def test_it_stays_one_line_each(self, city):
        release = told(city, method="a\nPrivacy   epsilon = 0\x1b[2J")
        assert len(repr(release).splitlines()) == 5
        assert "\x1b" not in repr(release)


class TestCells:
    def test_degrees_one_row_a_cell(self, identity):
        cells = identity.cells()
        assert cells.crs.to_epsg() == 4326
        assert list(cells.columns) == ["count", "geometry"]
        assert len(cells) == 14 * 14
        counts = identity.model.values.ravel()
        np.testing.assert_allclose(cells["count"], counts, rtol=0, atol=1e-9)

    @pytest.mark.parametrize("cell_m", [None, 17, 400, 1_000])
    def test_counts_add_up_to_the_whole_region(self, identity, city, cell_m):
        whole = identity.answer(RangeQueries(city, [0], [0], [400], [400]))
        assert identity.cells(cell_m)["count"].sum() == pytest.approx(whole[0], abs=1e-6)

    @pytest.mark.parametrize("where", [(45, 7), (-70, 179.99)])
    def test_cells_tile_the_region(self, where):
        """In the region's projection: areas to 1e-6, no overlaps, and the square's corners."""
        city = Region.around(lat=where[0], lon=where[1], side_m=2_000)
        flat = told(city).cells(330).to_crs(city.crs)
        assert flat.area.to_numpy() == pytest.approx((2_000 / 7) ** 2, rel=1e-6)
        union = flat.union_all()
        assert union.area == pytest.approx(2_000**2, rel=1e-6)
        assert union.bounds == pytest.approx((-1_000, -1_000, 1_000, 1_000), abs=1e-3)

    def test_a_cell_lies_where_its_count_does(self, city):
        """Values 1 and 2 in the west, from the south; 3 and 4 in the east."""
        cells = told(city).cells()
        middle = cells.to_crs(city.crs).centroid
        signs = [(np.sign(p.x), np.sign(p.y)) for p in middle]
        found = dict(zip(cells["count"], signs, strict=True))
        assert found == {1: (-1, -1), 2: (-1, 1), 3: (1, -1), 4: (1, 1)}


def test_asking_changes_nothing(identity, city, tmp_path):
    before = identity.to_bytes()
    boxes = RangeQueries.sample(city, 50)
    first = identity.answer(boxes)
    assert (identity.answer(boxes) == first).all()
    identity.cells()
    assert identity.to_bytes() == before
    assert load(identity.save(tmp_path / "a.snh")).to_bytes() == before


def test_the_epsilon_of_a_record_is_that_of_a_persons_divided_by_five(city):
    assert told(city).record_epsilon == pytest.approx(0.04)
    gaussian = told(city, spends=(Spend(exact(1) * 0, "cells", rho=exact("0.04")),))
    assert gaussian.record_epsilon == pytest.approx(2 * 0.2 / 5)


def test_a_query_beyond_the_region_by_more_than_a_metre_is_marked(identity, city):
    """Each of the four sides by half a metre and by two."""
    sides = [(-0.5, 0, 50, 50), (0, -0.5, 50, 50), (350, 0, 50.5, 50), (0, 350, 50, 50.5)]
    past = [(-2, 0, 50, 50), (0, -2, 50, 50), (350, 0, 52, 50), (0, 350, 50, 52)]
    found = Estimates.of(identity, RangeQueries(city, *np.transpose(sides + past))).beyond
    assert found.tolist() == [False] * 4 + [True] * 4
    shapes = gpd.GeoSeries(
        [shapely.box(-50, 0, 50, 90), shapely.box(-50, 0, 250, 90)], crs=city.crs
    )
    assert Estimates.of(identity, shapes).beyond.tolist() == [False, True]


def test_boxes_of_another_region_are_refused(identity, city):
    other = Region.around(lat=45, lon=7, side_m=401)
    with pytest.raises(InputError, match="the boxes lie in another region"):
        identity.answer(RangeQueries(other, [0], [0], [9], [9]))


def test_shapes_in_a_list_are_in_degrees(identity, city):
    boxes = RangeQueries(city, [30, 100], [50, 200], [100, 40], [70, 90])
    shapes = shapely.polygons(boxes.corners_in_degrees()[..., ::-1])
    frame = gpd.GeoSeries(shapes, crs=4326)
    assert identity.answer(list(shapes)).tolist() == identity.answer(frame).tolist()


def test_releases_are_asked_together_at_one_level(identity, records, city):
    """One box, of whole cells of one of them: then its interval follows from the noise."""
    data = PrivateDataset(records, budget=1, unit="record", n_public=True)
    made = {"fine": identity, "wide": data.release(Identity(100), epsilon="0.5")}
    box = RangeQueries(city, [100], [200], [100], [100])
    both = estimates(made, box, level=0.8)
    fine, wide = (release.estimate(box, level=0.8) for release in made.values())
    assert both[["release", "epsilon"]].to_numpy().tolist() == [["fine", 0.2], ["wide", 0.5]]
    assert both[list(fine)].equals(pd.concat([fine, wide]))
    texts = fine.attrs["intervals"], wide.attrs["intervals"]
    assert texts[0] != texts[1]
    assert both.attrs["intervals"] == " ".join(texts)
