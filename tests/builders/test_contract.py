"""What every builder must do. To test a new builder, add it to ``BUILDERS``."""

import copy
import dataclasses
import gc
import sys
import weakref
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any

import geopandas as gpd
import numpy as np
import pytest
import shapely

from snhkit import load
from snhkit.builders import (
    DAWA,
    HDMM,
    HTF,
    PGM,
    AdaptiveGrid,
    HierarchicalGrid,
    Identity,
    Privelet,
    PrivTree,
    QuadTree,
    Tessellation,
    UniformGrid,
)
from snhkit.dataset import PrivateDataset
from snhkit.errors import InputError
from snhkit.geometry import Histogram, Points, RangeQueries, Region
from snhkit.neural import DPSGD, MLP, SNH, DenoisedGrid, FeatureGrid, Networks, Prior
from snhkit.privacy import Spend, noise
from snhkit.privacy.gradients import noise_multiplier
from snhkit.privacy.homogeneity import Level
from snhkit.privacy.products import noisy_products
from snhkit.privacy.spend import total
from snhkit.privacy.splits import Lattice
from snhkit.release import Release

TINY_NETWORKS = Networks(k=2, network=FeatureGrid((8,)), steps=3, batch=512)
TINY_DPSGD = DPSGD(network=MLP(3, 8), samples=64, steps=3, batch=16)
# Of a region 400 m wide, with a fifth of it outside both.
HALVES = gpd.GeoDataFrame(
    geometry=[shapely.box(-200, -200, 0, 120), shapely.box(0, -200, 300, 120)],
    index=["west", "east"],
    crs=Region.around(lat=45, lon=7, side_m=400).crs,
)
ELSEWHERE = gpd.GeoSeries([shapely.box(8, 45, 9, 46)], crs=4326)
OVERLAPPING = gpd.GeoSeries([shapely.box(6, 44, 7, 46), shapely.box(6.999, 44, 8, 46)], crs=4326)
BUILDERS = {
    "UG": UniformGrid(),
    "Identity-30": Identity(30),
    "Identity": Identity(),
    "Identity, auto": Identity("auto"),
    "AG": AdaptiveGrid(),
    "PrivTree": PrivTree(),
    "QuadTree": QuadTree(),
    "QuadTree-3": QuadTree(3),
    "HB2D": HierarchicalGrid(),
    "HB2D-10": HierarchicalGrid(10, b=3),
    "DAWA": DAWA(order=5),
    "DAWA, large squares": DAWA(order=4, sizes_m=(200, 300)),
    "PGM-80": PGM(80),
    "PGM": PGM(),
    "Privelet": Privelet(),
    "Privelet-30": Privelet(30),
    "HDMM": HDMM(),
    "HDMM, all boxes": HDMM(20, None),
    "HTF": HTF(side=40),
    "HTF, one cell": HTF(side=1),
    "Tessellation": Tessellation(HALVES),
    "Denoised": DenoisedGrid(prior=Prior(turns=2)),
    "Denoised, auto": DenoisedGrid("auto", prior=Prior(turns=1)),
    # Of a given width, because each number of cells is compiled anew, which takes seconds.
    "SNH": SNH(25, networks=TINY_NETWORKS),
    "SNH, prior": SNH(
        50, networks=dataclasses.replace(TINY_NETWORKS, scaling="learned"), prior=Prior(turns=1)
    ),
    "DPSGD": TINY_DPSGD,
}
IMPOSSIBLE = {
    "Identity, more cells than a grid has": Identity(0.01),
    "HB2D, more cells than a grid has": HierarchicalGrid(0.01),
    "DAWA, sizes larger than the region": DAWA(sizes_m=(25, 401)),
    "PGM, more cells than it can fit": PGM(0.1),
    "Privelet, more cells than a grid has": Privelet(0.01),
    "HDMM, more cells than it can search for": HDMM(0.1),
    "HDMM, sizes larger than the region": HDMM(sizes_m=(25, 500)),
    "SNH, more cells than a grid has": SNH(0.01),
    "SNH, sizes larger than the region": SNH(sizes_m=(25, 400)),
    "Denoised, more cells than a grid has": DenoisedGrid(0.01),
    "Denoised, sizes larger than the region": DenoisedGrid(sizes_m=(25, 400)),
    "Tessellation, districts elsewhere": Tessellation(ELSEWHERE),
    "Tessellation, districts that overlap": Tessellation(OVERLAPPING),
    "DPSGD, sizes larger than the region": dataclasses.replace(TINY_DPSGD, sizes_m=(25, 400)),
    "DPSGD, more cells than a grid has": dataclasses.replace(TINY_DPSGD, sizes_m=(0.01, 0.01)),
}
TERMS = {
    "record": {"unit": "record", "n_public": True},
    "record, n bought": {"unit": "record", "n_public": False},
    "user": {"unit": "user", "max_per_user": 3, "n_public": True},
    "user, n bought": {"unit": "user", "max_per_user": 3, "n_public": False},
}
# Every two of the values occur together.
EXTREMES = [
    ("none", "0.001", "record", False),
    ("none", 100, "user, n bought", True),
    ("one", "0.001", "user, n bought", True),
    ("one", 100, "record", False),
    ("one spot", "0.001", "user, n bought", False),
    ("one spot", 100, "record", True),
]
pytestmark = pytest.mark.filterwarnings("ignore::snhkit.select.OutOfRangeWarning")
every_terms = pytest.mark.parametrize("terms", TERMS.values(), ids=TERMS)


@pytest.fixture(params=BUILDERS.values(), ids=BUILDERS, scope="module")
def builder(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture(scope="module")
def release(released, builder: Any, records: Points) -> Release:
    """Return one release of each builder, for all tests that only ask it."""
    return released(records, builder)


def boxes_of(city: Region) -> RangeQueries:
    """Return boxes of every size and shape, some of which extend beyond the region."""
    rng = np.random.default_rng(8)
    low, size = rng.uniform(-100, 400, (2, 60)), rng.uniform(0, 500, (2, 60))
    return RangeQueries(city, *low, *size)


def overlap(boxes: RangeQueries) -> np.ndarray:
    """Return the area of each box inside the region, in square metres."""
    low, size = np.stack([boxes.x, boxes.y]), np.stack([boxes.width, boxes.height])
    return np.prod(np.clip(low + size, 0, 400) - np.clip(low, 0, 400), axis=0)


def replace_everywhere(monkeypatch: pytest.MonkeyPatch, name: str, new: Callable) -> None:
    """Replace a noise function by ``new`` in each module that imported it."""
    found = [
        module
        for path, module in list(sys.modules.items())
        if path.startswith("snhkit.") and callable(vars(module).get(name))
    ]
    assert len({vars(module)[name] for module in found}) == 1
    for module in found:
        monkeypatch.setattr(module, name, new)


class TestAccount:
    @every_terms
    def test_spends_are_epsilon_and_each_draw_is_as_wide_as_its_price(
        self, builder, records, terms, monkeypatch
    ):
        drawn, draw = [], noise.discrete_laplace
        normal, draw_normal = [], noise.gaussian_for_demonstration
        changes, products = [], noisy_products

        def recording(shape, scale, entropy):
            drawn.append(scale)
            return draw(shape, scale, entropy)

        def recording_normal(count, std, entropy):
            normal.append(std)
            return draw_normal(count, std, entropy)

        replace_everywhere(monkeypatch, "gaussian_for_demonstration", recording_normal)

        def weighing(histogram, weights, *terms):
            # The change of all sums in total by one record.
            changes.append(np.abs(weights.toarray()).sum(axis=0).max() ** 2)
            return products(histogram, weights, *terms)

        replace_everywhere(monkeypatch, "discrete_laplace", recording)
        replace_everywhere(monkeypatch, "noisy_products", weighing)
        data = PrivateDataset(records, budget=1, **terms)
        release = data.release(builder, epsilon="0.3")
        spends = release.spends
        assert release.epsilon == total(spends).epsilon == Fraction(3, 10)
        promised = Fraction(1, 10**6) if isinstance(builder, DPSGD) else 0
        assert release.delta == total(spends).delta == promised
        (entry,) = data.ledger.entries
        assert (entry.state, entry.epsilon, entry.spends) == ("settled", Fraction(3, 10), spends)
        assert data.ledger.remaining == Fraction(7, 10)
        if not terms["n_public"] and release.n is not None:  # a twentieth buys n
            assert spends[0] == Spend(Fraction(3, 200), "number of records")
        sensitivity = terms.get("max_per_user", 1)
        if isinstance(builder, (PrivTree, DAWA)):
            # One price covers the draws of all depths.
            while drawn[0] == Lattice.of(spends[0].epsilon, sensitivity).scale:
                drawn = drawn[1:]
            spends = spends[1:]
        if isinstance(builder, HTF):
            # One price covers all draws of the tree; tests/privacy/test_homogeneity.py has them.
            spends = spends[:-1]
            drawn = drawn[: len(spends)]
        if isinstance(builder, DPSGD):
            # One price covers all steps, for any unit; the multiplier has its own test.
            *spends, steps = spends
            std = 2 * 16 * 10 * noise_multiplier(steps.epsilon, Fraction(1, 10**6), 3)
            assert normal == [std] * 3
        else:
            assert normal == []
        changes = [1] * (len(spends) - len(changes)) + [int(change) for change in changes]
        assert drawn == [
            sensitivity * change / spend.epsilon
            for change, spend in zip(changes, spends, strict=True)
        ]

    @pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
    def test_a_failed_build_stays_spent(self, builder, records, error, monkeypatch):
        def failing(*_):
            raise error("299 records")

        replace_everywhere(monkeypatch, "discrete_laplace", failing)
        replace_everywhere(monkeypatch, "gaussian_for_demonstration", failing)
        data = PrivateDataset(records, budget=1, unit="record", n_public=True)
        with pytest.raises(error):
            data.release(builder, epsilon="0.3")
        (entry,) = data.ledger.entries
        assert (entry.state, entry.reason, entry.spends) == ("failed", error.__name__, ())
        assert data.ledger.remaining == Fraction(7, 10)

    @pytest.mark.parametrize("impossible", IMPOSSIBLE.values(), ids=IMPOSSIBLE)
    def test_impossible_builders_are_refused_before_payment(self, impossible, records):
        data = PrivateDataset(records, budget=1, unit="record", n_public=True)
        with pytest.raises(InputError):
            data.release(impossible, epsilon="0.3")
        assert data.ledger.entries == ()


class TestWhatIsKept:
    @every_terms
    def test_releases_depend_on_records_through_noise_functions_only(
        self, released, builder, records, city, terms, monkeypatch
    ):
        """If the noise functions return the same numbers, other records give the same release."""

        def same_histogram(histogram, epsilon, sensitivity, entropy):
            counts = np.random.default_rng(5).integers(-3, 9, histogram.counts.shape)
            return counts, Spend(epsilon, "cells", "parallel")

        def same_products(histogram, weights, epsilon, sensitivity, entropy):
            sums = np.random.default_rng(5).integers(-3, 9, (weights.shape[0],) * 2)
            return sums, Spend(epsilon, "weighted sums")

        def same_splits(source, max_depth, max_squares, epsilon, sensitivity, entropy):
            number = np.arange(4)
            return np.ones_like(number), number, Spend(epsilon, "splits of a quadtree")

        def same_buckets(histogram, along, longest, epsilon, *others):
            buckets = 2 ** (2 * builder.order - 2)
            return np.full(buckets, along.size // buckets), Spend(epsilon, "bucket boundaries")

        def same_halves(histogram, prices, cut_price, *others):
            m, one = histogram.partition.m, np.ones(1)
            root = Level(np.array([[0, m, 0, m]]), np.zeros(1, int), 7 * one, one, one > 0)
            return [root], Spend(sum(prices) + cut_price * (len(prices) - 1), "a tree")

        replace_everywhere(monkeypatch, "noisy_halves", same_halves)
        replace_everywhere(monkeypatch, "noisy_histogram", same_histogram)
        replace_everywhere(monkeypatch, "noisy_products", same_products)
        replace_everywhere(monkeypatch, "noisy_buckets", same_buckets)
        replace_everywhere(monkeypatch, "noisy_splits", same_splits)
        replace_everywhere(
            monkeypatch, "noisy_count", lambda _count, e, *_: (300, Spend(e, "number of records"))
        )
        replace_everywhere(monkeypatch, "noisy_gradient", lambda total, _: np.full_like(total, 0.1))
        replace_everywhere(monkeypatch, "discrete_laplace", None)
        # With few records only, clamps would hide a number of records that was not bought.
        many = [len(records)] if terms["n_public"] else [7, 2_000, 50_000]
        xy = np.random.default_rng(9).uniform(0, 400, (max(many), 2))
        # One record per person, because a choice of records would change the public n.
        every = [records.xy, *(xy[:m] for m in many)]
        one, *others = (
            released(Points(city, a, np.arange(len(a))), builder, 100, **terms, seed=1).to_bytes()
            for a in every  # at a large epsilon, or the rules for grids would be at their limits
        )
        assert all(other == one for other in others)

    def test_the_constructor_only_stores(self, builder):
        names = {c.__name__: c for c in (FeatureGrid, MLP, Networks, Prior, type(builder))}
        if not isinstance(builder, Tessellation):  # its polygons are too long to be written out
            assert eval(repr(builder), names) == builder
        assert dataclasses.replace(builder) == builder
        assert hash(dataclasses.replace(builder)) == hash(builder)
        for field in dataclasses.fields(builder):
            with pytest.raises(dataclasses.FrozenInstanceError):
                setattr(builder, field.name, getattr(builder, field.name))

    def test_neither_builder_nor_release_keeps_records(self, released, builder, records):
        gc.freeze()  # excludes existing objects from the search, which would take half a second
        mine = Points(records.region, records.xy.copy())
        before = copy.deepcopy(vars(builder))
        release = released(mine, builder)
        release.answer(boxes_of(records.region))
        gone = [weakref.ref(mine), weakref.ref(mine.xy)]
        del mine
        gc.collect()
        gc.unfreeze()
        assert [ref() for ref in gone] == [None, None]
        assert vars(builder) == before

    def test_no_attribute_of_a_release_holds_a_record(self, released, builder, records):
        places = Points(records.region, records.xy[::-1] * 0.999)
        release = released(records, builder, public=places)
        release.answer(boxes_of(records.region))  # fills what is cached
        found = list(leaves(release))
        assert any(isinstance(leaf, np.ndarray) for leaf in found)
        assert not any(isinstance(leaf, (Points, Histogram, PrivateDataset)) for leaf in found)
        for leaf in found:
            assert not holds(leaf, records.xy)

    def test_the_search_finds_a_record(self, records):
        for place in (records.xy[5, 1], records.xy[7:8] / 400, records.xy.astype(np.float32)):
            assert any(holds(leaf, records.xy) for leaf in leaves({"a": [(1, place)]}))
        assert any(isinstance(leaf, Points) for leaf in leaves([records]))


def leaves(thing: Any, seen: set[int] | None = None) -> Iterator[Any]:
    """Yield an object and all objects that can be reached from it."""
    seen = set() if seen is None else seen
    if id(thing) in seen or isinstance(thing, type):
        return
    seen.add(id(thing))
    yield thing
    if isinstance(thing, Mapping):
        parts = [*thing.keys(), *thing.values()]
    elif isinstance(thing, (list, tuple, set, frozenset)):
        parts = list(thing)
    else:
        parts = list(getattr(thing, "__dict__", {}).values())
    for part in parts:
        yield from leaves(part, seen)


def holds(leaf: Any, xy: np.ndarray) -> bool:
    """Return whether a coordinate, in metres or in sides of the region, is among a leaf's numbers.

    16-bit numbers are not searched, since they would equal some coordinate by coincidence. Of
    32-bit numbers, one of 64 weights equals a coordinate by chance in one release of a thousand,
    and two do in one of a million.
    """
    if not isinstance(leaf, (float, np.ndarray, np.generic)):
        return False
    numbers = np.asarray(leaf)
    if numbers.dtype.kind != "f" or numbers.dtype.itemsize < 4:
        return False
    least = 1 if numbers.dtype.itemsize > 4 else 2
    return any(
        np.isin((xy / side).astype(numbers.dtype), numbers).sum() >= least for side in (1, 400)
    )


class TestAnswers:
    def test_answers_are_finite_and_one_per_box(self, release, records):
        for count in (0, 1, 60):
            answers = release.answer(boxes_of(records.region)[:count])
            assert answers.shape == (count,)
            assert answers.dtype == np.float64
            assert np.isfinite(answers).all()

    def test_boxes_without_area_in_the_region_get_zero(self, release, records):
        """Boxes without width or height, and boxes outside, asked without any other boxes."""
        city = records.region
        empty = RangeQueries(city, [10, 10, 0, 100], [10, 10, 0, 100], [0, 5, 0, 0], [5, 0, 400, 0])
        outside = RangeQueries(
            city, [-90, 400, 10, 10, -5e6], [10, 10, -80, 400, -5e6], [90, 9, 9, 9, 9], [80] * 5
        )
        assert release.answer(empty).tolist() == [0] * 4
        np.testing.assert_allclose(release.answer(outside), 0, atol=1e-12)

    def test_only_the_part_inside_counts_and_the_order_of_boxes_does_not(self, release, records):
        boxes = boxes_of(records.region)
        x0, y0 = np.clip([boxes.x, boxes.y], 0, 400)
        x1, y1 = np.clip([boxes.x + boxes.width, boxes.y + boxes.height], 0, 400)
        cut = RangeQueries(records.region, x0, y0, x1 - x0, y1 - y0)
        together = release.answer(boxes)
        np.testing.assert_allclose(together, release.answer(cut), rtol=0, atol=1e-3)
        order = np.random.default_rng(1).permutation(len(boxes))
        np.testing.assert_allclose(release.answer(boxes[order]), together[order], atol=1e-3)
        np.testing.assert_allclose(release.answer(boxes[7:8]), together[7:8], atol=1e-3)

    def test_boxes_of_another_region_are_refused(self, release):
        elsewhere = RangeQueries(Region.around(lat=45, lon=7, side_m=401), [1], [1], [9], [9])
        for ask in (release.answer, release.noise_sd):
            with pytest.raises(InputError, match=r"another region.*401.*400"):
                ask(elsewhere)

    def test_noise_sds_are_known_for_every_box_or_for_none(self, release, records):
        boxes = boxes_of(records.region)
        errors = release.noise_sd(boxes)
        assert errors.shape == (60,)
        assert np.isnan(errors).all() or (errors[overlap(boxes) > 1] > 0).all()
        assert np.isnan(errors).all() or (errors[overlap(boxes) == 0] == 0).all()
        assert release.noise_sd(boxes[:0]).shape == (0,)
        again = release.noise_sd(boxes[::-1])[::-1]
        np.testing.assert_allclose(again, errors, rtol=1e-9)

    @pytest.mark.parametrize(("which", "epsilon", "terms", "public"), EXTREMES, ids=str)
    def test_extreme_records_and_epsilons_give_finite_answers(
        self, released, builder, records, which, epsilon, terms, public
    ):
        spots = {"none": np.empty((0, 2)), "one": [[400 - 1e-9, 0]], "one spot": [[7, 9]] * 500}
        xy = spots[which]
        few = Points(records.region, xy, np.arange(len(xy)) // 2)
        places = Points(records.region, [[0, 0], [7, 9]]) if public else None
        made = released(few, builder, epsilon, public=places, **TERMS[terms])
        assert np.isfinite(made.answer(boxes_of(records.region))).all()


class TestFile:
    @pytest.mark.parametrize("terms", [TERMS["record"], TERMS["user, n bought"]])
    def test_a_loaded_release_equals_the_saved(self, released, builder, records, terms, tmp_path):
        release = released(records, builder, "1/3", **terms)
        again = load(release.save(tmp_path / "city.snh"))
        for field in dataclasses.fields(Release):
            if field.name != "model":
                assert getattr(again, field.name) == getattr(release, field.name), field.name
        assert again.region == release.region
        for field in dataclasses.fields(builder):
            given = getattr(builder, field.name)
            if not isinstance(given, tuple) and not dataclasses.is_dataclass(given):
                assert again.hyperparameters[field.name] == given
        boxes = boxes_of(records.region)
        assert (again.answer(boxes) == release.answer(boxes)).all()
        np.testing.assert_array_equal(again.noise_sd(boxes), release.noise_sd(boxes))
        assert again.to_bytes() == release.to_bytes()
        assert repr(again) == repr(release)


class TestSeeds:
    def test_a_seed_repeats_the_release_and_is_reported(self, builder, records):
        data = PrivateDataset(records, budget=10, unit="record", n_public=True)
        one, same, other, free = (
            data.release(builder, epsilon=1, seed=seed) for seed in (4, 4, 6, None)
        )
        assert one.to_bytes() == same.to_bytes()
        boxes = boxes_of(records.region)
        assert (one.answer(boxes) != other.answer(boxes)).any()
        assert [r.replayable for r in (one, same, other, free)] == [True, True, True, False]
        assert [e.replayable for e in data.ledger.entries] == [True, True, True, False]

    @pytest.mark.parametrize(("epsilon", "n_public"), [(1, False), (40, True)])
    def test_k_records_of_a_person_for_k_times_epsilon_give_the_same_release(
        self, released, builder, records, epsilon, n_public
    ):
        """Widths, shares and thresholds follow from epsilon per record, as the noise does."""
        if isinstance(builder, DPSGD):
            pytest.skip("its noise is the same for every unit")
        own = Points(records.region, records.xy, np.arange(len(records)))
        given = {"n_public": n_public, "seed": 4}
        one = released(own, builder, epsilon, **given)
        people = {"unit": "user", "max_per_user": 3}
        other = released(own, builder, 3 * epsilon, **people, **given)
        paid = {name: getattr(one, name) for name in ("unit", "epsilon", "spends")}
        assert dataclasses.replace(other, **paid).to_bytes() == one.to_bytes()

    def test_releases_without_a_seed_differ(self, released, builder, records):
        """The smallest release is one count at scale 1, and 40 more releases all have the same
        count with probability below 1e-13."""
        boxes = boxes_of(records.region)
        one = released(records, builder).answer(boxes)
        assert any((released(records, builder).answer(boxes) != one).any() for _ in range(40))
