"""Slow: a build does not end."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Thinking:
    """Forever."""

    def check(self, region, terms):
        pass

    def build(self, private):
        while True:
            print("still thinking")


mechanism = Thinking()
