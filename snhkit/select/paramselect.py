"""ParamSelect: a parameter of a method, predicted from public numbers and public data."""

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from snhkit.builder import Builder
from snhkit.defaults import DEFAULT_SIZES_M
from snhkit.errors import InputError
from snhkit.files import write_whole
from snhkit.geometry import Points
from snhkit.select.features import entropy, features
from snhkit.select.labels import checked, read_labels
from snhkit.select.search import Search, best_values

if TYPE_CHECKING:
    import pandas as pd
    from distributed import Client
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.ensemble import ExtraTreesRegressor

    Trees = ExtraTreesRegressor | TransformedTargetRegressor

Pretrained = Literal["published", "snh", "denoised"]
"""The names of the tables of training examples that come with snhkit."""


class OutOfRangeWarning(UserWarning):
    """Warning that n, epsilon or entropy is outside the range that a ParamSelect was fitted to."""


@dataclass(frozen=True, eq=False, repr=False)
class ParamSelect:
    """A regression, fitted to public cities, that predicts a good parameter value for private data.

    The best cell width depends on the number of records, on epsilon, and on how clustered a city
    is. Trying widths on private records would cost epsilon. ParamSelect therefore tries them on
    public cities, and a regression predicts the width for the private city from those results. Of
    the private records, the regression uses only the number n.

    Parameters
    ----------
    labels : DataFrame
        Training examples, one row for each public data set and epsilon, with the columns
        ``dataset``, ``n``, ``epsilon`` (per record), ``entropy`` (nats, or nan) and a column named
        after the parameter, which holds the best value. If this column has an integer type,
        predictions are rounded to whole numbers.

    Raises
    ------
    InputError
        If ``labels`` does not have these columns, or a value is out of its range.

    Examples
    --------
    >>> select = ParamSelect.pretrained()
    >>> select
    ParamSelect('cell_m', from 45 labels)
    >>> 15 < select.cell_width(n=100_000, epsilon=0.2) < 30
    True

    Notes
    -----
    Sec. 5 of the paper.
    """

    labels: "pd.DataFrame"

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", checked(self.labels))

    @classmethod
    def pretrained(cls, labels: Pretrained = "published") -> "ParamSelect":
        """Return a ParamSelect that predicts cell widths, fitted to labels that come with snhkit.

        Labels are training examples. The labels "published" are those of the paper's authors, who
        found by experiment which width suits their networks best in nine cities, at five epsilons
        each. These labels come from the file ``gowalla_train`` beside the authors' code, whose unit
        of length is taken to be 1,243 m. The authors' regions are about 12.4 km wide; Boston's is
        twice as wide. Their queries are squares of 25 to 100 m. Their n is the number of a city's
        check-ins in a larger region, and their entropy is that of cells about 24 m wide.

        The labels "snh" suit ``SNH`` with its default networks, and grids that are published
        without a network, such as ``Identity``. The labels "denoised" suit ``DenoisedGrid``. Both
        come from public cities in regions 13.2 km wide, with queries of the same sizes
        (``benchmarks/widths.py``).

        The labels suit regions of the widths above. In a wider region, the same n means a lower
        density, and the cells of the entropy are wider. No warning is given. For wider regions, for
        other query sizes or for another method, use ``fit`` on public cities of that kind.

        Parameters
        ----------
        labels : "published", "snh" or "denoised"
            The name of the labels to use.
        """
        return _pretrained(labels)

    @classmethod
    def fit(
        cls,
        datasets: Mapping[str, Points],
        epsilons: Sequence[float],
        builder: Builder,
        parameter: str,
        grid: Sequence[float],
        *,
        path: str | os.PathLike[str] | None = None,
        sizes_m: tuple[float, float] = DEFAULT_SIZES_M,
        queries: int = 2_000,
        repeats: int = 1,
        seed: int = 0,
        n_jobs: int = 1,
        client: "Client | None" = None,
    ) -> "ParamSelect":
        """Return a ParamSelect fitted to the best parameter values in experiments on public data.

        Parameters
        ----------
        datasets : mapping of str to Points
            Public data sets by name, which are used without privacy. An experiment builds a release
            in which a data set takes the place of the private records. The data set also serves as
            the public points that show where queries are expected.
        epsilons : sequence of float
            Values of epsilon per record.
        builder : Builder
            The method, with its other parameters set.
        parameter : str
            The name of the parameter to vary, such as "cell_m" or "networks.k".
        grid : sequence of numbers
            The values of the parameter to try.
        path : str or path, optional
            A file of JSON lines to which each measured error is appended. A later call with the
            same file does not repeat the experiments in the file. A run may therefore be
            interrupted at any time, and a later call may have more datasets, epsilons, values or
            repeats.
        sizes_m : (float, float)
            Smallest and largest side of the test squares, in metres.
        queries : int
            The number of test squares, centred on points of each data set.
        repeats : int
            The number of releases, with different noise, whose errors are averaged.
        seed : int
            Seed of the noise and of the squares; the same seed gives the same best values. The seed
            need not be secret, because the data are public.
        n_jobs : int
            Number of processes; -1 for one on each core.
        client : distributed.Client, optional
            The client of a Dask cluster whose workers run the experiments in place of local
            processes.

        Raises
        ------
        InputError
            If the builder has no such parameter or refuses a value, or if the file cannot be read
            or was begun with other settings. These checks are made before the first experiment.
        """
        asked = Search(builder, parameter, sizes_m, queries, seed)
        return cls(best_values(asked, datasets, epsilons, grid, repeats, path, n_jobs, client))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "ParamSelect":
        """Return a ParamSelect fitted to the training examples in a file that ``save`` wrote.

        Raises
        ------
        InputError
            If the file cannot be read or does not hold a table of training examples.
        """
        return cls(read_labels(path))

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the training examples to a CSV file, and return the file's path."""
        return write_whole(path, self.labels.to_csv(index=False, lineterminator="\n"))

    @property
    def parameter(self) -> str:
        """The name of the parameter that is predicted."""
        return str(self.labels.columns[-1])

    def predict(self, n: int, epsilon: float, public: Points | None = None) -> float:
        """Return the predicted best value of the parameter for n records at an epsilon.

        A prediction is never outside the range of the best values in the training examples.

        Parameters
        ----------
        n : int
            The number of records: public, or measured with noise.
        epsilon : float
            Epsilon per record. With ``unit="user"``, this is epsilon divided by ``max_per_user``,
            the number of records that are kept of each user.
        public : Points, optional
            Public points in the region (the paper's D*), never the private records. Without them,
            or if no training example has an entropy, the prediction uses n and epsilon only.

        Raises
        ------
        InputError
            If epsilon is not a positive number.

        Warns
        -----
        OutOfRangeWarning
            If n, epsilon or the entropy is outside the range of the training examples.
        """
        return self._value(n, epsilon, public)

    def cell_width(self, n: int, epsilon: float, public: Points | None = None) -> float:
        """Return the predicted best cell width in metres for n records at an epsilon per record.

        The result is that of ``predict``, for a ParamSelect whose parameter is ``cell_m``.

        Raises
        ------
        InputError
            If the parameter is not ``cell_m``, or epsilon is not a positive number.
        """
        if self.parameter != "cell_m":
            raise InputError(
                f"this ParamSelect predicts {self.parameter}, not cell_m; call predict, or fit a "
                "ParamSelect with parameter='cell_m'."
            )
        return self._value(n, epsilon, public)

    def _value(self, n: int, epsilon: float, public: Points | None) -> float:
        if not 0 < epsilon < float("inf"):
            raise InputError(f"epsilon must be a positive number, not {epsilon!r}.")
        h, trees = None, self._with_entropy
        if public is None or not len(public) or trees is None:
            trees = self._without_entropy
        else:
            h = entropy(public)
        self._warn(n, epsilon, h)
        value = float(trees.predict(features(n, epsilon, h))[0])
        return round(value) if self.labels[self.parameter].dtype.kind in "iu" else value

    def _beyond(self, n: int, epsilon: float, h: float | None) -> list[str]:
        """Return what is outside the range of the training examples, in words."""
        asked = {"n": n, "epsilon": epsilon} | ({} if h is None else {"entropy": h})
        beyond = []
        for name, value in asked.items():
            known = self.labels[name].to_numpy(float)
            low, high = np.nanmin(known), np.nanmax(known)
            if not low <= value <= high:
                beyond.append(f"{name} = {value:,.6g} is not in {low:,.6g} to {high:,.6g}")
        return beyond

    def _warn(self, n: int, epsilon: float, h: float | None) -> None:
        if beyond := self._beyond(n, epsilon, h):
            warnings.warn(
                f"ParamSelect: {', '.join(beyond)}, the range of the labels; "
                f"the {self.parameter} for the nearest value in the range is used.",
                OutOfRangeWarning,
                stacklevel=4,
            )

    @cached_property
    def _with_entropy(self) -> "Trees | None":
        known = self.labels.dropna(subset="entropy")
        return self._trees(known, known["entropy"].to_numpy(float)) if len(known) else None

    @cached_property
    def _without_entropy(self) -> "Trees":
        return self._trees(self.labels, None)

    def _trees(self, labels: "pd.DataFrame", h: NDArray[np.float64] | None) -> "Trees":
        phi = features(labels["n"], labels["epsilon"], h)
        return fitted(phi, labels[self.parameter].to_numpy(float))

    def __repr__(self) -> str:
        return f"ParamSelect({self.parameter!r}, from {len(self.labels):,} labels)"


@cache
def _pretrained(labels: str) -> ParamSelect:
    return ParamSelect.load(Path(__file__).with_name(f"{labels}.csv"))


def unfitted(values: NDArray[np.float64]) -> "Trees":
    """Return an unfitted regression by extremely randomised trees, as in the paper (Sec. 6.1).

    Averages of logarithms, of positive values, err a few percent less in cross-validation.
    """
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.ensemble import ExtraTreesRegressor

    trees = ExtraTreesRegressor(n_estimators=150, max_depth=7, random_state=0)
    if np.min(values) <= 0:
        return trees
    return TransformedTargetRegressor(trees, func=np.log, inverse_func=np.exp)


def fitted(phi: NDArray[np.float64], values: NDArray[np.float64]) -> "Trees":
    """Return a regression fitted to the best values of q examples, from their ``features``."""
    return unfitted(values).fit(phi, values)
