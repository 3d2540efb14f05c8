"""The betting game is as hard as epsilon says."""

import itertools

import numpy as np
import pytest

from snhkit.privacy import ReplayableEntropy
from snhkit.teaching import BettingGame, surest
from snhkit.teaching.betting import WITH, WITHOUT, chance_to_win, deal


@pytest.mark.parametrize("epsilon", [0.1, 1, 3])
def test_the_best_strategy_reaches_the_bound_and_its_opposite_the_rest(epsilon):
    def best(answer):
        return answer >= WITH

    def worst(answer):
        return answer < WITH

    assert chance_to_win(best, epsilon) == pytest.approx(surest(epsilon))
    assert chance_to_win(best, epsilon) + chance_to_win(worst, epsilon) == pytest.approx(1)


@pytest.mark.parametrize("strategy", [lambda a: a >= 20, lambda a: a % 2 == 0, lambda a: True])
def test_the_chance_to_win_is_that_of_40_000_played_bets(strategy):
    answers, is_in = deal(40_000, 1, ReplayableEntropy(1))
    played = np.mean(np.array([strategy(answer) for answer in answers]) == is_in)
    # Five standard deviations of 40,000 bets are 0.0125.
    assert chance_to_win(strategy, 1) == pytest.approx(played, abs=0.0125)


def test_a_strategy_that_tosses_coins_is_called_often():
    tosses = itertools.cycle([True, False])
    assert chance_to_win(lambda _: next(tosses), 1.0) == pytest.approx(0.5, abs=1e-9)
    once = itertools.cycle([True, False])
    assert chance_to_win(lambda _: next(once), 1.0, calls=1) != pytest.approx(0.5, abs=1e-3)


def test_the_coin_is_fair_and_the_counts_differ_by_one():
    answers, is_in = deal(40_000, 1, ReplayableEntropy(2))
    assert np.mean(is_in) == pytest.approx(0.5, abs=0.0125)
    gap = answers[is_in].mean() - answers[~is_in].mean()
    assert gap == pytest.approx(WITH - WITHOUT, abs=0.08)


def test_the_game_counts_bets_says_the_truth_and_begins_anew_at_another_epsilon():
    game = BettingGame(epsilon=1.0)
    _, question, buttons, record = game.children
    yes, no = buttons.children
    for _ in range(10):
        yes.click()
        no.click()
    assert game.rounds == 20
    assert 0 <= game.won <= 20
    assert f"{game.won} of 20" in record.value
    assert "73.1%" in record.value
    assert "Is she in?" in question.value
    game.children[0].value = 0.1
    assert (game.rounds, game.won) == (0, 0)


def test_the_truth_of_a_round_is_not_in_the_page_before_the_bet():
    game = BettingGame()
    assert game._truth in (True, False)
    game.bet(True)
    first = game.children[3].value
    assert ("was in the file" in first) == ("Right" in first)
