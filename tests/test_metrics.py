"""The error measure of the paper, worked by hand."""

import numpy as np
import pytest

from snhkit.metrics import relative_errors, smoothing


def test_smoothing_is_a_thousandth_of_the_records():
    assert smoothing(217_438) == pytest.approx(217.438, rel=1e-15)
    assert smoothing(0) == 0


def test_relative_errors_by_hand():
    # n = 20,000, so psi = 20: below it the error is divided by 20, above by the truth
    estimate = np.array([15.0, -5.0, 30.0, 110.0, 20.0])
    truth = np.array([10, 0, 20, 100, 19])
    expected = [5 / 20, 5 / 20, 10 / 20, 10 / 100, 1 / 20]
    np.testing.assert_allclose(relative_errors(estimate, truth, 20_000), expected, rtol=1e-15)


def test_no_records_and_a_right_answer_is_no_error():
    assert relative_errors(np.array([0.0]), np.array([0]), n=0).tolist() == [0.0]


def test_no_records_and_a_wrong_answer_is_a_huge_error():
    assert relative_errors(np.array([1.0]), np.array([0]), n=0)[0] > 1e300


def test_no_queries():
    assert relative_errors(np.empty(0), np.empty(0, int), n=10).shape == (0,)
