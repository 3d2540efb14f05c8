"""Lower bounds on each method's epsilon from audits: python benchmarks/audits.py [--help].

Builds every method many times on pairs of neighbours whose difference is hard to hide. Prints, as
Markdown, the guaranteed epsilon and the lower bound on epsilon that follows from the releases. Then
prints how often an attacker finds out whether a person is in a tiny city, and how often epsilon
allows this.
"""

import argparse
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import geopandas as gpd
import numpy as np
import shapely
from numpy.typing import NDArray

import snhkit as snh
from snhkit.models import PartitionModel
from snhkit.privacy import (
    Audit,
    audit_mechanism,
    epsilon_of,
    largest_accuracy,
    membership_accuracy,
)

CITY = snh.Region.around(lat=45, lon=7, side_m=400)
SPOT, MIRROR = (130.0, 130.0), (270.0, 270.0)
QUARTERS = [(x, y) for x in (0, 200) for y in (0, 200)]
# Squares around the position in which neighbours differ, as wide as the cells below, and quarters.
SIDES = np.array([10, 25, 40, 50, 100, 200, 400, *[200] * 4])
LOW = np.floor(SPOT[0] / SIDES[:7]) * SIDES[:7]
BOXES = snh.RangeQueries(
    CITY,
    np.append(LOW, [x for x, _ in QUARTERS]),
    np.append(LOW, [y for _, y in QUARTERS]),
    SIDES,
    SIDES,
)
DISTRICTS = gpd.GeoSeries(
    [shapely.box(x, y, x + 200, y + 200) for x in (-200, 0) for y in (-200, 0)], crs=CITY.crs
)
# Networks that learn four counts in a twentieth of a second.
TINY = snh.Networks(k=1, network=snh.MLP(2, 4), steps=50, learning_rate=0.05)
METHODS: dict[str, Any] = {
    "UG": snh.UniformGrid(),
    "Identity": snh.Identity(100),
    "AG": snh.AdaptiveGrid(),
    "PrivTree": snh.PrivTree(max_depth=3),
    "QuadTree": snh.QuadTree(1),
    "HB2D": snh.HierarchicalGrid(100, b=2),
    "DAWA, 4 cells": snh.DAWA(order=1, max_bucket_m=400),
    "DAWA, 64 cells": snh.DAWA(order=3, max_bucket_m=400),
    "Privelet": snh.Privelet(200),
    "HDMM": snh.HDMM(100),
    "PGM": snh.PGM(200),
    "HTF": snh.HTF(side=4, mean=1),
    "Tessellation": snh.Tessellation(DISTRICTS),
    "SNH": snh.SNH(200, sizes_m=(100, 200), networks=TINY),
    "Denoised": snh.DenoisedGrid(100, prior=snh.Prior(turns=1), pool=0.4),  # if there are strata
    "Denoised, cells only": snh.DenoisedGrid(100, coarse=0.0, prior=snh.Prior(turns=1)),
    "Identity, Gaussian": snh.Identity(100),
    "HB2D, Gaussian": snh.HierarchicalGrid(100, b=2),
    "DP-SGD": snh.DPSGD((100, 300), snh.MLP(2, 4), samples=16, steps=3, batch=1, learning_rate=0.1),
}
DELTA = Fraction(1, 100)
"""The delta of the methods with Gaussian noise; large, so that few runs can reveal a fault."""
SLOW = {
    "DP-SGD": 20, "PGM": 10, "DAWA, 64 cells": 2, "SNH": 4, "Denoised": 8,
    "Denoised, cells only": 2,
}  # fmt: skip
"""The factor by which the number of runs is divided for slow methods."""
TELLING = {
    "UG": "one or none", "QuadTree": "in a crowd", "HB2D": "in a crowd",
    "DAWA, 4 cells": "one or none", "HDMM": "two equal spots", "PGM": "two equal spots",
    "Tessellation": "in a crowd", "Denoised": "among many", "Denoised, cells only": "among many",
}  # fmt: skip
"""The pair from which a method's releases told the most, if it is not "three or four"."""


@dataclass(frozen=True)
class Terms:
    """The terms of releases, and pairs of neighbouring data sets under these terms."""

    said: dict[str, Any]
    pairs: dict[str, tuple[snh.Points, snh.Points]]
    factor: int = 1  # the guarantee for these neighbours is this factor times epsilon
    by: snh.By | None = None


def points(
    *places: tuple[float, float], users: list[int] | None = None, hours: list[int] | None = None
) -> snh.Points:
    """Return records at positions; without ``users``, each record is of another person."""
    xy = np.array(places, float).reshape(-1, 2)
    people = np.arange(len(xy)) if users is None else np.array(users, int)
    return snh.Points(CITY, xy, people, None if hours is None else np.array(hours) * 3_600)


def crowd(count: int) -> list[tuple[float, float]]:
    """Return ``count`` positions spread over the city; the same count gives the same positions."""
    return [(x, y) for x, y in np.random.default_rng(5).uniform(0, 400, (count, 2))]


def many() -> list[tuple[float, float]]:
    """Return 16,000 positions, in every cell of 100 m another number of them.

    Where counts are large and uneven, a denoised count follows the noisy one.
    """
    held = np.random.default_rng(5).integers(0, 2_000, (4, 4))
    return [(100 * i + 50, 100 * j + 50) for i, j in np.ndindex(4, 4) for _ in range(held[i, j])]


def terms() -> dict[str, Terms]:
    """Return pairs of neighbours for each kind of terms."""
    balanced = [SPOT] * 8 + [MIRROR] * 8
    record = {
        "one or none": (points(), points(SPOT)),
        "three or four": (points(*[SPOT] * 3), points(*[SPOT] * 4)),
        "two equal spots": (points(*balanced), points(*balanced, SPOT)),
        "in a crowd": (points(*crowd(60)), points(*crowd(60), SPOT)),
        "among many": (points(*many()), points(*many(), SPOT)),
    }
    # All records of a person at one position, and all at different positions.
    others, three = crowd(20), list(range(20)) + [99] * 3
    apart = [SPOT, MIRROR, (SPOT[0], MIRROR[1])]
    user = {
        "three in one spot": (points(*others), points(*others, *[SPOT] * 3, users=three)),
        "three spots": (points(*others), points(*others, *apart, users=three)),
    }
    # If n is public, neighbours differ in the position of one record.
    replaced = {
        "another place": (points(SPOT), points(MIRROR)),
        "another place in a crowd": (points(*crowd(60), SPOT), points(*crowd(60), MIRROR)),
    }
    # Strata of 12 hours: a record moves to another, and a person has records in both.
    moved = {
        "another hour": (points(SPOT, hours=[3]), points(SPOT, hours=[15])),
        "another hour in a crowd": (
            points(*crowd(60), SPOT, hours=[3] * 61),
            points(*crowd(60), SPOT, hours=[3] * 60 + [15]),
        ),
    }
    both = {
        "two hours": (
            points(*others, hours=[3] * 20),
            points(*others, *[SPOT] * 3, users=three, hours=[3] * 21 + [15] * 2),
        )
    }
    half = snh.By.hour(12)
    return {
        "record, n public, by hour": Terms(
            {"unit": "record", "n_public": True}, moved, factor=2, by=half
        ),
        "user, n bought, by hour": Terms(
            {"unit": "user", "max_per_user": 3, "n_public": False}, both, by=half
        ),
        "record, n public": Terms({"unit": "record", "n_public": True}, replaced, factor=2),
        "record, n bought": Terms({"unit": "record", "n_public": False}, record),
        "user, n bought": Terms({"unit": "user", "max_per_user": 3, "n_public": False}, user),
    }


def published(
    name: str, epsilon: Any, said: dict[str, Any], by: snh.By | None, records: snh.Points
) -> NDArray:
    """Return the numbers of one release, or of the releases of all strata."""
    delta = DELTA if "Gaussian" in name else 0
    data = snh.PrivateDataset(records, snh.Budget(epsilon, delta), **said)
    if by is not None:
        made = data.release(METHODS[name], epsilon=epsilon, delta=delta, by=by)
        return np.concatenate([numbers_of(release) for release in made.values()])
    return numbers_of(data.release(METHODS[name], epsilon=epsilon, delta=delta))


def numbers_of(release: snh.Release) -> NDArray:
    """Return the numbers of a release: answers, n, their ratios, and cells in the quarters."""
    answers, n = release.answer(BOXES), release.n or 0
    numbers = [*answers, n, *answers / max(n, 1)]  # an attacker can divide too
    if isinstance(release.model, PartitionModel):
        cells = release.model.partition
        west, south = cells.x0 < 200, cells.y0 < 200
        numbers += [(a & b).sum() for a in (west, ~west) for b in (south, ~south)]
    return np.array(numbers, float)


def audits(
    name: str, said: Terms, epsilon: float, runs: int, built_for: float = 0, only: str = ""
) -> Audit:
    """Return the audit of a method on all pairs of neighbours, or on those that contain ``only``.

    ``built_for`` is the epsilon of the builds, if it is not the claimed ``epsilon``.
    """
    mechanism = partial(published, name, built_for or epsilon, said.said, said.by)
    promised, delta = said.factor * epsilon, float(getattr(METHODS[name], "delta", 0))
    if "Gaussian" in name:
        rho = said.factor * snh.Budget(epsilon, DELTA).rho
        promised, delta = float(epsilon_of(rho, DELTA)), float(DELTA)
    runs = max(runs // SLOW.get(name, 1), 20)
    exact = {only: said.pairs[only]} if only in said.pairs else {}
    pairs = exact or {name: pair for name, pair in said.pairs.items() if only in name}
    return audit_mechanism(mechanism, pairs, promised, runs, delta=delta)


def attacks(name: str, epsilon: float, runs: int) -> tuple[float, float]:
    """Return how often an attacker is right about the presence of a fourth person in a city.

    The second number is a lower confidence bound.
    """
    said = {"unit": "user", "max_per_user": 2, "n_public": False}
    three = points(SPOT, MIRROR, (50, 350))
    target = points(SPOT, MIRROR, (50, 350), SPOT, SPOT, users=[0, 1, 2, 9, 9])
    mechanism = partial(published, name, epsilon, said, None)
    return membership_accuracy(mechanism, three, target, max(runs // SLOW.get(name, 1), 20))


def print_audits(methods: list[str], epsilon: float, runs: int, only: str) -> None:
    """Print the guaranteed epsilon of methods, and the lower bounds from their releases."""
    print(
        "| method | unit, n | promised | at least shown | pair | runs |\n|---|---|---|---|---|---|"
    )
    for name in methods:
        for unit, said in terms().items():
            pair = TELLING.get(name, "three or four") if only == "telling" else only
            if not any(pair == p if only == "telling" else pair in p for p in said.pairs):
                continue
            if said.by and getattr(METHODS[name], "delta", 0):
                continue  # a method with a delta of its own is refused for strata
            found = audits(name, said, epsilon, runs, only=pair)
            pair = max(found.shown, key=lambda pair: found.shown[pair])
            print(
                f"| {name} | {unit} | {found.promised:.3g} | {found.largest:.2f} | {pair} | "
                f"{found.runs:,} |{' BROKEN' if found.refuted else ''}",
                flush=True,
            )


def print_attacks(methods: list[str], epsilon: float, runs: int, only: str) -> None:
    """Print how often an attacker is right, and how often epsilon allows this; no pair is used."""
    allowed = largest_accuracy(epsilon)
    print("\n| method | attacker is right | at least | epsilon allows |\n|---|---|---|---|")
    for name in methods:
        if "Gaussian" in name:
            continue  # the probability that delta allows is not computed
        right, least = attacks(name, epsilon, runs)
        print(f"| {name} | {right:.1%} | {least:.1%} | {allowed:.1%} |", flush=True)


def main() -> None:
    """Read the options, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epsilon", type=float, default=0.5)
    parser.add_argument("--runs", type=int, default=4_000)
    parser.add_argument(
        "--pair",
        default="",
        help="name of the pair to audit, or a part of it; "
        "telling for the one that tells the most of a method",
    )
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    tables = {"audits": print_audits, "attacks": print_attacks}
    parser.add_argument("--tables", nargs="+", choices=tables, default=list(tables))
    given = parser.parse_args()
    for table in given.tables:
        tables[table](given.methods, given.epsilon, given.runs, given.pair)


if __name__ == "__main__":
    main()
