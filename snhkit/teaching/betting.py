"""A game in which a player sees a noisy count and bets whether a person was counted."""

from collections.abc import Callable
from fractions import Fraction

import ipywidgets as widgets
import numpy as np
from numpy.typing import NDArray

from snhkit.privacy import Entropy, SystemEntropy, discrete_laplace, exact

WITHOUT, WITH = 17, 18  # the invented true counts without and with Ada's record


def surest(epsilon: float) -> float:
    """Return the largest probability of winning a bet on whether a noisy count includes a person.

    The count is released with ``epsilon``. Before that, it is equally likely that the person was
    counted or not.

    Examples
    --------
    >>> round(surest(1.0), 3)
    0.731
    """
    return float(1 / (1 + np.exp(-epsilon)))


def deal(
    rounds: int, epsilon: float | Fraction, entropy: Entropy
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Draw noisy counts of 17 records, or of 18 if the record of a person, Ada, is counted."""
    is_in = entropy.words(rounds) % np.uint64(2) == 1
    noise = discrete_laplace(rounds, 1 / exact(epsilon), entropy)
    return np.where(is_in, WITH, WITHOUT) + noise, is_in


def chance_to_win(strategy: Callable[[int], bool], epsilon: float, calls: int = 20) -> float:
    """Return the probability that a strategy wins a bet on whether a person, Ada, was counted.

    Probabilities come from the formula of the noise, so nothing is drawn. A strategy that tosses
    coins is called several times for each count.
    """
    ratio = np.exp(-float(epsilon))
    reach = int(np.ceil(30 / epsilon))  # a count farther away has a probability below exp(-30)
    won = 0.0
    for answer in range(WITHOUT - reach, WITH + reach + 1):
        bets_on_ada = np.mean([bool(strategy(answer)) for _ in range(calls)])
        noise = np.array([answer - WITH, answer - WITHOUT])
        with_ada, without = (1 - ratio) / (1 + ratio) * ratio ** np.abs(noise)
        won += (bets_on_ada * with_ada + (1 - bets_on_ada) * without) / 2
    return float(won)


class BettingGame(widgets.VBox):
    """A widget in which a player bets, round after round, whether a person, Ada, was counted.

    Parameters
    ----------
    epsilon : float
        The epsilon of each released count at the start. Moving the slider of the widget changes
        epsilon and restarts the game.

    Attributes
    ----------
    rounds, won : int
        Number of bets placed, and number of bets won.

    Examples
    --------
    >>> game = BettingGame(epsilon=1.0)
    >>> game.bet(True)
    >>> game.rounds
    1
    """

    def __init__(self, epsilon: float = 1.0) -> None:
        self.rounds = self.won = 0
        self._slider = widgets.FloatLogSlider(
            value=epsilon, base=10, min=-1, max=1, step=0.1, description="ε"
        )
        self._question, self._record = widgets.HTML(), widgets.HTML()
        yes = widgets.Button(description="She is in (18)", button_style="primary")
        no = widgets.Button(description="She is not (17)", button_style="warning")
        yes.on_click(lambda _: self.bet(True))
        no.on_click(lambda _: self.bet(False))
        self._slider.observe(lambda _: self._begin(), names="value")
        self._begin()
        super().__init__(
            [self._slider, self._question, widgets.HBox([yes, no]), self._record],
        )

    def bet(self, is_in: bool) -> None:
        """Bet whether Ada was counted, record the outcome, and show the next released count."""
        right = bool(self._truth) == is_in
        self.rounds, self.won = self.rounds + 1, self.won + right
        told = "in" if self._truth else "not in"
        self._record.value = (
            f"{'Right' if right else 'Wrong'}: she was {told} the file. <b>{self.won} of "
            f"{self.rounds}</b> bets won, {self.won / self.rounds:.0%}. In the long run nobody "
            f"wins more than {surest(self._slider.value):.1%} at this ε."
        )
        self._deal()

    def _begin(self) -> None:
        self.rounds = self.won = 0
        self._record.value = "No bet yet. Place about twenty bets to see how often you win."
        self._deal()

    def _deal(self) -> None:
        answers, is_in = deal(1, exact(round(self._slider.value, 6)), SystemEntropy())
        self._truth = is_in[0]
        self._question.value = (
            f"The file holds 17 records, or 18 with Ada's. The released count is "
            f"<b style='font-size:1.4em'>{answers[0]}</b>. Is she in?"
        )
