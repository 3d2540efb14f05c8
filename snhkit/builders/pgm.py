"""PGM: the non-negative counts that fit a noisy grid and the sums of its blocks best."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from snhkit.builders.base import Extra, publish
from snhkit.builders.cell_width import Width, check_width, chosen_grid, given_grid
from snhkit.builders.jax_ready import require_jax
from snhkit.geometry import Grid, Region
from snhkit.geometry.grid import block_sums
from snhkit.models.grid_model import GridModel
from snhkit.privacy import Measurements, Terms
from snhkit.progress import steps
from snhkit.release import Release

_MAX_CELLS_PER_SIDE = 1024
_ITERATIONS = 200
_CALLBACK_ITERATIONS = 50  # iterations between two calls of mbi's callback
_STD_EXPONENT = 1 / 4  # a sum of k by k cells gets k^(1/4) times a cell's standard deviation


@dataclass(frozen=True)
class PGM:
    """The non-negative counts with sum n that fit a noisy grid and the sums of its blocks best.

    Noisy counts may be negative and need not add up to n. Fitting a probability distribution over
    the cells to the noisy counts removes both faults, and also some of the noise. The fit is
    post-processing, so it costs no epsilon. The sums of blocks of cells are fitted as well, because
    raising negative cells to zero would otherwise move counts from dense districts to empty ones.

    Parameters
    ----------
    cell_m : float, "auto" or None
        The cell width in metres, made a little smaller so that whole blocks fill the region; at
        most 1,024 cells per side. None and "auto" choose the width as in ``Identity``.

    Raises
    ------
    InputError
        If ``cell_m`` is not one of these values.

    Examples
    --------
    >>> PGM.blocks_for(299), PGM.blocks_for(40), PGM.blocks_for(7)
    ((64, 16, 4), (4,), ())

    Notes
    -----
    McKenna, Sheldon and Miklau, "Graphical-model based estimation and inference for differential
    privacy", ICML 2019, with the authors' package ``mbi`` (the extra ``pgm``): mirror descent
    (Algorithm 1) on the L2 loss. The attributes of a cell are its widest block, the next narrower
    block inside this one, and so on, and the sums of blocks are marginals over the first
    attributes. The sums are not new measurements but sums of the same noisy cells, so their weights
    can be chosen freely. The standard deviation of a sum of k by k cells is taken to be k^(1/4)
    times that of a cell, a choice that gave small errors on the taxis of San Francisco. The counts
    add up to n if n is known, else to the sum of the noisy counts.
    """

    cell_m: Width = None
    extra: ClassVar[Extra] = Extra("pgm", package="mbi")

    def __post_init__(self) -> None:
        check_width(self.cell_m)

    @staticmethod
    def blocks_for(side: int) -> tuple[int, ...]:
        """Return the widths in cells of the blocks whose sums are fitted, the widest first.

        At least four of each fit along a grid's side of ``side`` cells.
        """
        return tuple(k for k in (64, 16, 4) if side >= 4 * k)

    def check(self, region: Region, terms: Terms) -> None:
        """Raise InputError if ``mbi`` or JAX cannot be used, or ``cell_m`` makes too many cells."""
        self.extra.require()
        given_grid(region, self.cell_m, _MAX_CELLS_PER_SIDE)
        require_jax("PGM")

    def build(self, private: Measurements) -> Release:
        """Return a release of the counts that fit a noisy grid best."""
        grid = chosen_grid(private, self.cell_m, most_cells=_MAX_CELLS_PER_SIDE)
        widest = max(self.blocks_for(grid.m), default=1)
        grid = Grid(grid.region, min(-(-grid.m // widest) * widest, _MAX_CELLS_PER_SIDE))
        noisy = private.histogram(grid, private.epsilon).values
        total = private.n if private.n is not None else max(int(noisy.sum()), 0)
        counts = fitted(noisy, total, self.blocks_for(grid.m))
        return publish(self, private, GridModel(grid, counts))


def fitted(noisy: NDArray, total: int, blocks: tuple[int, ...] = ()) -> NDArray[np.float64]:
    """Return the non-negative counts that add up to ``total`` and fit noisy counts best."""
    if total == 0:
        return np.zeros(noisy.shape)
    PGM.extra.require()  # whose import would otherwise warn of JAX's default settings
    import jax
    import mbi

    # mbi needs 64-bit numbers; jax's own setting is restored afterwards.
    with jax.enable_x64(True):
        m, widths = len(noisy), (*blocks, 1)
        names = [(f"x{k}", f"y{k}") for k in widths]  # attributes of a cell, widest block first
        sizes = [a // b for a, b in zip((m, *blocks), widths, strict=True)]
        # Cells are numbered by all x attributes, then by all y attributes.
        cliques = [
            (*(x for x, _ in names[: d + 1]), *(y for _, y in names[: d + 1]))
            for d in range(len(widths))
        ]
        domain = mbi.Domain(cliques[-1], (*sizes, *sizes))
        measured = [
            mbi.LinearMeasurement(
                block_sums(noisy, np.arange(0, m, k)).ravel(), clique, stddev=k**_STD_EXPONENT
            )
            for k, clique in zip(widths, cliques, strict=True)
        ]
        loss = mbi.marginal_loss.from_linear_measurements(measured, domain)
        # ``lipschitz`` sets the first step's length, which is as large as the sums allow.
        steepest = sum(
            min(np.abs(one.noisy_measurement).max() + 1, total) / one.stddev**2 for one in measured
        )
        loss = replace(loss, lipschitz=float(2 * steepest / total))
        floor = 0.01 * total / noisy.size
        logs: Any = np.log(np.maximum(noisy, floor)).reshape(domain.shape)
        start = mbi.Factor(domain, logs)
        with steps(_ITERATIONS, "fitting the counts") as advance:
            model = mbi.estimation.MirrorDescent().estimate(
                domain,
                loss,
                known_total=float(total),
                iters=_ITERATIONS,
                callback_fn=lambda _: advance(_CALLBACK_ITERATIONS),
                warm_start=mbi.CliqueVector(domain, [cliques[-1]], {cliques[-1]: start}),
            )
        return np.array(model.project(cliques[-1]).datavector()).reshape(m, m)
