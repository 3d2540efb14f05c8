"""Audits of each method: lower bounds on epsilon from the answers of many builds.

The noise comes from a seed, so these tests always see the same draws. benchmarks/audits.py has the
methods and the pairs of neighbours, and audits at length.
"""

import runpy
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from snhkit.privacy import Audit, largest_accuracy

BENCH = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "audits.py"))
METHODS: dict[str, Any] = BENCH["METHODS"]
TERMS: dict[str, Any] = BENCH["terms"]()
# All of epsilon buys counts that are visible in one answer.
WHOLE = ["UG", "Identity", "HB2D", "PGM", "HDMM", "Tessellation"]
# Epsilon is shared among levels or with the structure, so one answer shows less.
SHARED = ["AG", "PrivTree", "QuadTree", "DAWA, 4 cells", "DAWA, 64 cells", "HTF", "Privelet"]
QUICK = ("UG", "Identity", "QuadTree")


def quick_first(names: Iterable[str]) -> list[Any]:
    """Return the names as parameters; only the quick ones are not marked slow."""
    return [pytest.param(n, marks=() if n in QUICK else pytest.mark.slow) for n in names]


def audited(name: str, terms: str, pairs: list[str], epsilon: float, runs: int, **other) -> Audit:
    said = TERMS[terms]
    some = replace(said, pairs={pair: said.pairs[pair] for pair in pairs})
    return BENCH["audits"](name, some, epsilon, runs, **other)


@pytest.mark.parametrize("name", quick_first(METHODS))
def test_no_more_than_promised(name):
    found = audited(name, "record, n bought", ["one or none", "two equal spots"], 1, 400)
    assert not found.refuted, found
    found = audited(name, "user, n bought", ["three spots"], 1, 200)
    assert not found.refuted, found
    found = audited(name, "record, n public", ["another place"], 1, 200)
    assert found.promised == 2 or "Gaussian" in name
    assert not found.refuted, found


@pytest.mark.parametrize("name", quick_first(n for n in METHODS if n != "DP-SGD"))
def test_strata_together_cost_no_more_than_one(name):
    """A record moves to another stratum, and a person has records in both."""
    found = audited(name, "record, n public, by hour", ["another hour"], 1, 200)
    assert not found.refuted, found
    found = audited(name, "user, n bought, by hour", ["two hours"], 1, 200)
    assert not found.refuted, found


def test_strata_with_a_third_of_the_noise_would_be_caught():
    for terms, pair in (("record, n public", "another hour"), ("user, n bought", "two hours")):
        assert audited("Identity", f"{terms}, by hour", [pair], 1, 400, built_for=3).refuted


@pytest.mark.parametrize("name", quick_first(WHOLE))
def test_a_third_of_the_noise_would_be_caught(name):
    """The release is built for epsilon 3, while epsilon 1 is claimed."""
    runs = 400 * BENCH["SLOW"].get(name, 1)
    assert audited(name, "record, n bought", ["one or none"], 1, runs, built_for=3).refuted


@pytest.mark.parametrize("name", quick_first(SHARED))
def test_a_tenth_of_the_noise_would_be_caught(name):
    runs = 300 * BENCH["SLOW"].get(name, 1)
    assert audited(name, "record, n bought", ["one or none"], 1, runs, built_for=10).refuted


def test_users_who_get_the_noise_of_one_record_would_be_caught():
    """Three records of a person, hidden as one is: three times the epsilon that is claimed."""
    assert audited("Identity", "user, n bought", ["three in one spot"], 1, 400, built_for=3).refuted


@pytest.mark.parametrize("name", quick_first(["Identity", "AG", "PrivTree", "DAWA, 4 cells"]))
def test_an_attacker_knows_no_better_than_epsilon_allows_who_was_in_a_tiny_city(name):
    right, least = BENCH["attacks"](name, 1, 400)
    assert least <= largest_accuracy(1)
    assert right > 0.4


def test_an_attacker_who_could_know_better_is_found():
    _, least = BENCH["attacks"]("Identity", 5, 400)
    assert largest_accuracy(1) < least <= largest_accuracy(5)
