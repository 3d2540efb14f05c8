"""Crashing: a name is misspelt."""

from dataclasses import dataclass

from snhkit.geometry import Grid


@dataclass(frozen=True)
class Misspelt:
    """Counts that are never published."""

    def check(self, region, terms):
        pass

    def build(self, private):
        counts, variance = private.histogram(Grid(private.region, 12), private.left)
        return publissh(self, private, counts, variance)


mechanism = Misspelt()
