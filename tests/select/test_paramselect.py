"""What is learnt from the published labels and from others."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import RepeatedKFold, cross_val_score

from snhkit.errors import InputError
from snhkit.geometry import Points, Region
from snhkit.select import OutOfRangeWarning, ParamSelect, entropy, features
from snhkit.select.paramselect import unfitted

CITY = Region.around(lat=37.7637, lon=-122.4337, side_m=13_200)
COLUMNS = ["dataset", "n", "epsilon", "entropy", "cell_m"]


def points(n: int, spread: float = 200, seed: int = 0) -> Points:
    xy = np.random.default_rng(seed).normal(6_600, spread, (n, 2))
    return Points(CITY, np.clip(xy, 0, 13_199))


def table(*rows: tuple, parameter: str = "cell_m") -> pd.DataFrame:
    return pd.DataFrame(rows, columns=[*COLUMNS[:4], parameter])


@pytest.fixture(scope="module")
def select() -> ParamSelect:
    return ParamSelect.pretrained()


class TestPretrained:
    def test_the_labels_are_the_published_ones(self, select):
        """Nine cities, five epsilons; 1.011 is the sum of the published units, of 1,243 m each."""
        labels = select.labels
        assert list(labels.columns) == COLUMNS
        assert labels.groupby("dataset").size().tolist() == [5] * 9
        assert sorted(set(labels.epsilon)) == [0.05, 0.1, 0.2, 0.4, 0.8]
        units = labels.cell_m / 1_243
        np.testing.assert_allclose(units, units.round(3), atol=5e-5)
        assert units.round(3).sum() == pytest.approx(1.011, abs=1e-9)

    def test_those_for_snh_ask_for_no_wider_cells_where_noise_is_less(self):
        labels = ParamSelect.pretrained("denoised").labels
        widths = labels.pivot_table(index="dataset", columns="epsilon", values="cell_m")
        assert widths.shape == (25, 5)
        assert widths.notna().all(axis=None)
        assert (widths.diff(axis=1).iloc[:, 1:] <= 0).all(axis=None)

    def test_cross_validated_as_in_the_paper_it_errs_by_less_than_4_6_m(self, select):
        labels = select.labels
        folds = RepeatedKFold(n_splits=5, n_repeats=3, random_state=0)
        score = cross_val_score(
            unfitted(labels.cell_m.to_numpy()),
            features(labels.n, labels.epsilon, labels.entropy),
            labels.cell_m,
            cv=folds,
            scoring="neg_mean_absolute_error",
        )
        assert -score.mean() <= 4.6

    def test_it_is_made_once_and_comes_out_the_same_again(self, select):
        assert ParamSelect.pretrained() is select
        again = ParamSelect(select.labels)
        public = points(100_000)
        for epsilon in (0.05, 0.3, 0.8):
            assert again.cell_width(50_000, epsilon) == select.cell_width(50_000, epsilon)
            width = select.cell_width(50_000, epsilon, public)
            assert again.cell_width(50_000, epsilon, public) == width

    def test_less_noise_wants_narrower_cells(self, select):
        widths = [select.cell_width(200_000, epsilon) for epsilon in (0.05, 0.2, 0.8)]
        assert widths == sorted(widths, reverse=True)
        assert widths[0] > 2 * widths[2]

    @settings(max_examples=30)
    @given(st.integers(0, 10**9), st.floats(1e-6, 1e6), st.floats(1, 6_000))
    def test_widths_stay_within_those_of_the_labels(self, n, epsilon, spread):
        select = ParamSelect.pretrained()
        low, high = select.labels.cell_m.agg(["min", "max"])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", OutOfRangeWarning)
            for public in (None, points(500, spread)):
                width = select.cell_width(n, epsilon, public)
                assert low * (1 - 1e-9) <= width <= high * (1 + 1e-9)

    def test_public_points_matter_by_their_entropy_alone(self, select):
        public = points(150_000, 1_500)
        assert 7 < entropy(public) < 12.5
        mirrored = Points(CITY, public.xy[:, ::-1])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", OutOfRangeWarning)
            width = select.cell_width(100_000, 0.2, public)
            assert width == select.cell_width(100_000, 0.2, mirrored)
            assert width != select.cell_width(100_000, 0.2, points(100, 20))
            empty = select.cell_width(100_000, 0.2, Points(CITY, []))
        assert empty == select.cell_width(100_000, 0.2)


class TestWarnings:
    @pytest.mark.parametrize(
        ("n", "epsilon", "words"),
        [
            (4_465, 0.2, r"n = 4,465 is not in 4,466 to 546,723"),
            (546_724, 0.2, r"n = 546,724 is not in"),
            (100_000, 0.04, r"epsilon = 0.04 is not in 0.05 to 0.8"),
            (100_000, 0.81, r"epsilon = 0.81 is not in"),
            (1, 9, r"n = 1 .*, epsilon = 9 "),
        ],
    )
    @pytest.mark.parametrize("ask", [ParamSelect.cell_width, ParamSelect.predict])
    def test_what_lies_beyond_is_named_with_its_range(self, select, ask, n, epsilon, words):
        with pytest.warns(OutOfRangeWarning, match=words) as told:
            ask(select, n, epsilon)
        assert [warning.filename for warning in told] == [__file__]

    def test_so_is_entropy(self, select):
        with pytest.warns(OutOfRangeWarning, match=r"entropy = 0 is not in 4.00719 to 7.79794"):
            select.cell_width(100_000, 0.2, Points(CITY, [[1, 1]]))

    @pytest.mark.parametrize(("n", "epsilon"), [(4_466, 0.05), (546_723, 0.8)])
    def test_the_ends_of_the_range_are_in_it(self, select, n, epsilon):
        select.cell_width(n, epsilon)  # a warning is an error here

    @pytest.mark.parametrize("epsilon", [0, -1, np.nan, np.inf])
    def test_an_impossible_epsilon_is_refused(self, select, epsilon):
        with pytest.raises(InputError, match="epsilon must be a positive number"):
            select.cell_width(100_000, epsilon)


class TestOtherParameters:
    LABELS = table(("a", 10, 1.0, 2.0, 3), ("b", 90, 1.0, 4.0, 8), parameter="k")

    def test_whole_numbers_stay_whole(self):
        value = ParamSelect(self.LABELS).predict(50, 1.0)
        assert isinstance(value, int)
        assert 3 <= value <= 8
        assert isinstance(ParamSelect(self.LABELS.astype({"k": float})).predict(50, 1.0), float)

    def test_at_a_label_the_label_is_found(self):
        select = ParamSelect(self.LABELS)
        assert (select.predict(10, 1.0), select.predict(90, 1.0)) == (3, 8)

    def test_negative_values_can_be_learnt(self):
        for low in (-3.0, 0.0):
            labels = table(("a", 10, 1.0, 2.0, low), ("b", 90, 1.0, 4.0, 2.0), parameter="alpha")
            select = ParamSelect(labels)
            assert (select.predict(10, 1.0), select.predict(90, 1.0)) == (low, 2)

    def test_without_any_entropy_public_points_are_not_asked(self):
        labels = table(("a", 10, 1.0, np.nan, 3.0), ("b", 90, 1.0, np.nan, 8.0))
        select = ParamSelect(labels)
        assert select.predict(50, 1.0, points(9)) == select.predict(50, 1.0)

    def test_it_gives_no_cell_width(self):
        with pytest.raises(InputError, match="predicts k, not cell_m"):
            ParamSelect(self.LABELS).cell_width(50, 1.0)

    def test_the_table_is_its_own(self):
        mine = self.LABELS.copy()
        select = ParamSelect(mine)
        mine.loc[0, "k"] = 99
        assert select.labels["k"].tolist() == [3, 8]
