"""The explorer: choose a city, epsilon and methods, draw boxes, and compare the answers."""

from snhkit.widgets.draw_map import DrawMap
from snhkit.widgets.opening import explore
from snhkit.widgets.wording import epsilon_in_words

__all__ = ["DrawMap", "epsilon_in_words", "explore"]
