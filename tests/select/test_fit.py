"""Labels made by experiment: the right ones, and never twice."""

import json

import numpy as np
import pytest

from snhkit.builders import HierarchicalGrid, Identity, UniformGrid
from snhkit.dataset import PrivateDataset
from snhkit.errors import InputError
from snhkit.geometry import Points, RangeQueries, Region, exact_counts
from snhkit.metrics import relative_errors
from snhkit.neural import DenoisedGrid, Prior
from snhkit.select import ParamSelect, entropy, search

CITY = Region.around(lat=45, lon=7, side_m=2_000)
SIZES_M = (100.0, 200.0)
WIDTHS = (10.0, 100.0, 1_000.0)
EPSILONS = (0.02, 5)


def clustered(seed: int, n: int = 3_000) -> Points:
    rng = np.random.default_rng(seed)
    centres = rng.uniform(200, 1_800, (12, 2))
    xy = centres[rng.integers(12, size=n)] + rng.normal(0, 30, (n, 2))
    return Points(CITY, np.clip(xy, 0, 1_999))


CITIES = {"a": clustered(1), "b, small": clustered(2, 2_000)}


def fit(**changes) -> ParamSelect:
    asked = {
        "datasets": CITIES, "epsilons": EPSILONS, "builder": Identity(), "parameter": "cell_m",
        "grid": WIDTHS, "sizes_m": SIZES_M, "queries": 300,
    }  # fmt: skip
    return ParamSelect.fit(**(asked | changes))


@pytest.fixture(scope="module")
def fitted() -> ParamSelect:
    return fit()


@pytest.fixture
def runs(monkeypatch) -> list:
    """What is run, in this process."""
    made, run = [], search._run

    def recording(experiment, *rest):
        made.append(experiment)
        return run(experiment, *rest)

    monkeypatch.setattr(search, "_run", recording)
    return made


class TestLabels:
    def test_a_loop_finds_the_same_ones(self, fitted):
        """With other noise; the best is better by far, so noise does not decide."""
        rows = fitted.labels.itertuples(index=False)
        for row in rows:
            points = CITIES[row.dataset]
            boxes = RangeQueries.sample(points, 300, SIZES_M, seed=5)
            truth, errors = exact_counts(points, boxes), []
            for width in WIDTHS:
                data = PrivateDataset(points, budget=10, unit="record", n_public=True)
                answers = data.release(Identity(width), epsilon=row.epsilon, seed=4).answer(boxes)
                errors.append(relative_errors(answers, truth, len(points)).mean())
            first, second = np.sort(errors)[:2]
            assert second > 1.3 * first
            assert WIDTHS[int(np.argmin(errors))] == row.cell_m

    def test_each_city_says_where_queries_are_expected(self):
        """The networks of an experiment are trained with that workload, as those of a release."""
        asked = search.Search(Identity(), "cell_m", SIZES_M, 10, 0)
        exam = search.Exam.on(CITIES["a"], asked)
        experiment = search.Experiment("a", "digest", "3000", "0.5", "30.0", "0")
        assert exam.terms(experiment).public is CITIES["a"]

    def test_the_table_says_what_was_run(self, fitted):
        labels = fitted.labels
        assert labels.dataset.tolist() == ["a", "a", "b, small", "b, small"]
        assert labels.n.tolist() == [3_000, 3_000, 2_000, 2_000]
        assert labels.epsilon.tolist() == [0.02, 5, 0.02, 5]
        assert labels.entropy.tolist() == [entropy(p) for p in CITIES.values() for _ in EPSILONS]
        assert len(set(labels.cell_m)) > 1

    def test_it_predicts_what_it_learnt(self, fitted):
        for row in fitted.labels.itertuples(index=False):
            width = fitted.cell_width(row.n, row.epsilon, CITIES[row.dataset])
            assert width == pytest.approx(row.cell_m)

    def test_other_processes_find_the_same(self, fitted):
        assert fit(n_jobs=2).labels.equals(fitted.labels)

    def test_repeats_are_averaged(self, tmp_path):
        path = tmp_path / "errors.jsonl"
        fit(repeats=3, epsilons=[1], path=path)
        lines = path.read_text("utf-8").splitlines()[1:]
        assert len(lines) == 2 * 3 * 3
        assert len({json.loads(line)["rows"][0][0] for line in lines}) == len(lines)

    @pytest.mark.parametrize(
        ("builder", "parameter", "grid"),
        [
            (UniformGrid(), "c", (0.1, 10.0)),
            (HierarchicalGrid(50), "b", (2, 3)),
            (DenoisedGrid(100, prior=Prior(turns=1)), "prior.turns", (1, 2)),
        ],
    )
    def test_any_parameter_of_any_builder(self, builder, parameter, grid):
        select = fit(builder=builder, parameter=parameter, grid=grid, epsilons=[1])
        assert select.parameter == parameter
        assert set(select.labels[parameter]) <= set(grid)
        assert type(select.predict(2_000, 1)) is type(grid[0])

    def test_numbers_of_numpy_are_numbers(self, fitted):
        assert fit(grid=np.array(WIDTHS), epsilons=np.array(EPSILONS)).labels.equals(fitted.labels)


class TestResuming:
    def test_what_is_in_the_file_is_not_run_again(self, tmp_path, fitted, runs):
        path = tmp_path / "errors.jsonl"
        assert fit(path=path).labels.equals(fitted.labels)
        assert len(runs) == len(set(runs)) == 12
        assert fit(path=path).labels.equals(fitted.labels)
        assert len(runs) == 12
        fit(path=path, grid=(*WIDTHS, 50.0), epsilons=[5])
        assert [(e.epsilon, e.value) for e in runs[12:]] == [("5.0", "50.0")] * 2

    @pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
    def test_an_interrupted_run_goes_on(self, tmp_path, fitted, runs, monkeypatch, error):
        path, recording = tmp_path / "errors.jsonl", search._run

        def failing(*given):
            if len(runs) == 5:
                raise error
            return recording(*given)

        monkeypatch.setattr(search, "_run", failing)
        with pytest.raises(error):
            fit(path=path)
        assert len(path.read_text("utf-8").splitlines()) == 1 + 5
        monkeypatch.setattr(search, "_run", recording)
        assert fit(path=path).labels.equals(fitted.labels)
        assert len(runs) == len(set(runs)) == 12

    @pytest.mark.parametrize(
        "changes",
        [
            {"builder": UniformGrid(), "parameter": "c"},
            {"builder": HierarchicalGrid()},
            {"sizes_m": (100.0, 300.0)},
            {"queries": 301},
            {"seed": 1},
        ],
        ids=lambda changes: next(iter(changes)),
    )
    def test_a_file_of_other_settings_is_refused(self, tmp_path, runs, changes):
        path = tmp_path / "errors.jsonl"
        fit(path=path)
        before = path.read_bytes()
        with pytest.raises(InputError, match="begun with other settings; name another file"):
            fit(path=path, **changes)
        assert path.read_bytes() == before
        assert len(runs) == 12

    def test_other_points_are_measured_anew(self, tmp_path, runs):
        path = tmp_path / "errors.jsonl"
        fit(path=path)
        elsewhere = Region.around(lat=45, lon=8, side_m=2_000)
        for k, moved in enumerate(
            [Points(CITY, CITIES["a"].xy + 0.5), Points(elsewhere, CITIES["a"].xy)], start=1
        ):
            fit(path=path, datasets={"a": moved})
            assert len(runs) == 12 + 6 * k


class TestRefusals:
    @pytest.mark.parametrize(
        ("changes", "words"),
        [
            ({"parameter": "depth"}, "Identity has no parameter 'depth'; it has cell_m"),
            ({"builder": Identity}, "must be a builder such as Identity"),
            ({"datasets": {}}, "datasets is empty"),
            ({"epsilons": []}, "epsilons is empty"),
            ({"grid": []}, "grid is empty"),
            ({"grid": ["auto"]}, "finite numbers, not 'auto'"),
            ({"grid": [30.0, np.nan]}, "finite numbers, not nan"),
            ({"grid": [30.0, -1.0]}, "cell_m must be a positive number"),
            ({"grid": [30.0, 0.01]}, "cells per side"),
            ({"epsilons": [0]}, "epsilon must be greater than 0"),
            ({"repeats": 0}, "repeats must be a whole number"),
            ({"queries": -1}, "count must be a whole number"),
            ({"datasets": {"a": Points(CITY, [])}}, "'a' has no points"),
            ({"datasets": {"a\n": CITIES["a"]}}, "printable name"),
        ],
    )
    def test_nothing_is_run_and_no_file_begun(self, tmp_path, runs, changes, words):
        with pytest.raises(InputError, match=words):
            fit(path=tmp_path / "errors.jsonl", **changes)
        assert not runs
        assert not (tmp_path / "errors.jsonl").exists()
