"""PGM: the non-negative counts that fit one noisy grid and its sums."""

import warnings
from dataclasses import dataclass, replace
from types import ModuleType
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from snhkit.builders.base import Extra, Terms, noisy_grid, publish
from snhkit.builders.width.cell_width import Width, check_width, chosen_grid, given_grid
from snhkit.errors import InputError
from snhkit.geometry import Grid, Points, Region
from snhkit.geometry.blocks import block_sums
from snhkit.models.grid_model import GridModel
from snhkit.progress import steps
from snhkit.release import Release

__all__ = ["PGM"]

_MOST = 1024
_ITERATIONS = 200
_LOOK = 50  # iterations from one callback of mbi's to the next
_WEIGHT = 1 / 4


@dataclass(frozen=True)
class PGM:
    """The non-negative counts, adding up to n, that fit a noisy grid and the sums of its blocks.

    Noise makes counts that no city can have: people below zero, and more or fewer than there are.
    A probability distribution over the cells cannot do that, so the one that fits the noisy counts
    best loses some of their noise, and costs nothing. Blocks of cells are fitted as well, since
    lifting single cells to zero would otherwise fill empty districts at the expense of full ones.

    Parameters
    ----------
    cell_m : float, "bought" or "auto", optional
        Cell width in metres, made a little smaller so that whole blocks fill the region; "bought",
        "auto" and None are as for ``Identity``. At most 1,024 cells a side.

    Examples
    --------
    >>> PGM.blocks_for(299), PGM.blocks_for(40), PGM.blocks_for(7)
    ((64, 16, 4), (4,), ())

    Notes
    -----
    McKenna, Sheldon and Miklau, "Graphical-model based estimation and inference for differential
    privacy", ICML 2019, by the authors' package ``mbi``: mirror descent (Algorithm 1) on the L2
    loss. A cell's address names a block, a block inside that, and so on; the sums of blocks are
    marginals over the beginnings of addresses. As they repeat what the grid measured, they may
    weigh anything: the noise of k by k cells is taken to be that of one cell times k^(1/4), which
    did well on San Francisco's taxis. The total is n where it is known, else the noisy counts' sum.
    """

    cell_m: Width = None
    extra: ClassVar[Extra] = Extra("pgm", package="mbi")

    def __post_init__(self) -> None:
        check_width(self.cell_m)

    @staticmethod
    def blocks_for(side: int) -> tuple[int, ...]:
        """Widths in cells of the blocks whose sums are fitted too: four a side, or more."""
        return tuple(k for k in (64, 16, 4) if side >= 4 * k)

    def check(self, region: Region, terms: Terms) -> None:
        """Refuse to work without ``mbi``, or on more cells than it can take."""
        self.extra.require()
        given = given_grid(region, self.cell_m)
        if given is not None and given.m > _MOST:
            raise InputError(
                f"PGM: cells of {self.cell_m:g} m are {given.m:,} a side, more than the "
                f"{_MOST:,} it can fit; make cell_m {region.side_m / _MOST:.3g} or more."
            )

    def build(self, records: Points, terms: Terms) -> Release:
        """Count, add noise, and fit."""
        grid, left, bought, n = chosen_grid(records, terms, self.cell_m)
        widest = max(self.blocks_for(grid.m), default=1)
        grid = Grid(grid.region, min(-(-grid.m // widest) * widest, _MOST))
        noisy, spend = noisy_grid(records, grid, left)
        total = n if n is not None else max(int(noisy.sum()), 0)
        counts = fitted(noisy, total, self.blocks_for(grid.m))
        return publish(self, terms, (*bought, spend), GridModel(grid, counts), n)


def fitted(noisy: NDArray, total: int, blocks: tuple[int, ...] = ()) -> NDArray[np.float64]:
    """The counts nearest to noisy ones among those that are non-negative and add up to ``total``.

    Parameters
    ----------
    noisy : ndarray, shape (m, m)
        Noisy counts of cells.
    total : int
        What they are to add up to.
    blocks : tuple of int
        Widths of the blocks whose sums count too, each a multiple of the next; the widest
        divides m.

    Examples
    --------
    >>> fitted(np.array([[7, -3], [2, 0]]), total=7).round(6) + 0
    array([[6., 0.],
           [1., 0.]])
    """
    if total == 0:
        return np.zeros(noisy.shape)
    import jax

    # It computes in 64 bits; elsewhere jax is left as it is.
    with jax.enable_x64(True):
        mbi = _mbi()
        m, widths = len(noisy), (*blocks, 1)
        names = [(f"x{k}", f"y{k}") for k in widths]  # a cell's address, widest block first
        sizes = [a // b for a, b in zip((m, *blocks), widths, strict=True)]
        # Cells are numbered by all x parts of their address, then all y parts.
        cliques = [
            (*(x for x, _ in names[: d + 1]), *(y for _, y in names[: d + 1]))
            for d in range(len(widths))
        ]
        domain = mbi.Domain(cliques[-1], (*sizes, *sizes))
        measured = [
            mbi.LinearMeasurement(
                block_sums(noisy, k).astype(float).ravel(), clique, stddev=k**_WEIGHT
            )
            for k, clique in zip(widths, cliques, strict=True)
        ]
        loss = mbi.marginal_loss.from_linear_measurements(measured, domain)
        # What makes the first step as long as sums no larger than those measured allow.
        steepest = sum(
            min(np.abs(one.noisy_measurement).max() + 1, total) / one.stddev**2 for one in measured
        )
        loss = replace(loss, lipschitz=float(2 * steepest / total))
        floor = 0.01 * total / noisy.size
        start = mbi.Factor(domain, np.log(np.maximum(noisy, floor)).reshape(domain.shape))
        with steps(_ITERATIONS, "fitting the counts") as advance:
            model = mbi.estimation.MirrorDescent().estimate(
                domain,
                loss,
                known_total=float(total),
                iters=_ITERATIONS,
                callback_fn=lambda _: advance(_LOOK),
                warm_start=mbi.CliqueVector(domain, [cliques[-1]], {cliques[-1]: start}),
            )
        return np.array(model.project(cliques[-1]).datavector()).reshape(m, m)


def _mbi() -> ModuleType:
    with warnings.catch_warnings():
        # It warns of jax's settings, even of the default ones.
        warnings.simplefilter("ignore")
        import mbi

        return mbi
