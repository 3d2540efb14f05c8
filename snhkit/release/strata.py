"""Releases of strata, such as a map for each hour of the day, at the epsilon of one."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from jaxtyping import Float
from numpy.typing import NDArray

from snhkit.defaults import DEFAULT_LEVEL
from snhkit.errors import InputError
from snhkit.geometry import Grid, Partition, RangeQueries, Region
from snhkit.geometry.strata import By
from snhkit.models.model import OwnSums
from snhkit.models.packed_model import PackedGridModel
from snhkit.privacy import PrivacyUnit
from snhkit.privacy.spend import in_strata, of_all
from snhkit.release import file
from snhkit.release.estimates import Estimates, Queries, together
from snhkit.release.release import Release

_ROUNDS = 3
_PULL = 0.3  # the weight of the pattern of all strata against that of a stratum's own map


def drawn_together(
    whole: PackedGridModel, strata: Sequence[PackedGridModel], noise_scale: float
) -> Iterator[tuple[PackedGridModel, int]]:
    """Yield the model of each stratum, and its number of records, on the cells of ``whole``.

    A stratum's counts, plus 0.3 times those of the pattern of all strata, are scaled in turns
    (iterative proportional fitting) so that strata keep their shares, and all add up to ``whole``.
    """
    m, every = whole.grid.m, whole.values(whole.grid.m)
    sums = np.array([part.total for part in strata])
    share = sums / sums.sum() if sums.any() else np.full(len(sums), 1 / len(sums))
    own = _ratio(whole.total * share, sums)
    numbers = range(len(strata))

    def mixed(i: int) -> Float[np.ndarray, "m m"]:
        return own[i] * strata[i].values(m) + _PULL * share[i] * every

    fit, none = np.ones(len(sums)), np.zeros_like(every)
    for _ in range(_ROUNDS):
        factor = _ratio(every, sum((fit[i] * mixed(i) for i in numbers), none))
        fit = _ratio(whole.total * share, np.array([(mixed(i) * factor).sum() for i in numbers]))
    factor = _ratio(every, sum((fit[i] * mixed(i) for i in numbers), none))
    for i in numbers:
        counts = fit[i] * mixed(i) * factor
        n = float(counts.sum())
        yield PackedGridModel.of(whole.region, counts, noise_scale / len(strata), n), round(n)


def _ratio(
    wanted: Float[np.ndarray, "*s"], sums: Float[np.ndarray, "*s"]
) -> Float[np.ndarray, "*s"]:
    """Return by what to multiply sums to get the numbers that are wanted; 0 where nothing is."""
    return np.divide(wanted, sums, out=np.zeros_like(wanted), where=sums > 0)


def _refuse(description: Any, arrays: Any) -> Release:
    raise InputError("releases of strata are read with snhkit.load.")


@dataclass(frozen=True, eq=False)
class StrataModel(OwnSums):
    """The sum of the releases of strata, shape of all answers (q,)."""

    by: By
    strata: tuple[Release, ...]
    tz: str | None = None

    kind: ClassVar[str] = "strata"

    @property
    def separate(self) -> bool:
        """Whether the counts of different cells have independent noise: not known of sums."""
        return False

    @property
    def region(self) -> Region:
        """The region, which all strata share."""
        return self.strata[0].region

    def cells(self) -> Grid | Partition:
        """Return the cells of the stratum with the most."""
        found = (part.model.cells() for part in self.strata)
        return max(found, key=lambda cells: cells.m**2 if isinstance(cells, Grid) else len(cells))

    def answer(self, queries: RangeQueries) -> NDArray[np.float64]:
        """Return the sums over strata, shape (q,)."""
        return np.sum([part.model.answer(queries) for part in self.strata], axis=0)

    def noise_variance(self, queries: RangeQueries) -> NDArray[np.float64]:
        """Return the variance of the noise in the sums, shape (q,); nan if unknown."""
        return np.sum([part.model.noise_variance(queries) for part in self.strata], axis=0)

    def remarks(self) -> dict[str, str]:
        """Return lines for the card of the release."""
        zone = "" if self.tz is None else f" ({self.tz})"
        return {"Strata": f"{self.by.name}{zone}: {', '.join(self.by.labels)}"}

    def arrays(self) -> dict[str, NDArray]:
        """Return the arrays of all strata; their names begin with the number of the stratum."""
        return {
            f"{number}.{name}": array
            for number, part in enumerate(self.strata)
            for name, array in part.model.arrays().items()
        }

    def settings(self) -> dict[str, Any]:
        """Return the strata, and the description of the release of each, as JSON values."""
        parts = [{"format": file.FORMAT, **part.description()} for part in self.strata]
        zone = {} if self.tz is None else {"tz": self.tz}
        return {"by": self.by.to_dict(), **zone, "strata": parts}

    @classmethod
    def restore(
        cls,
        region: Region,
        arrays: Mapping[str, NDArray],
        settings: Mapping[str, Any],
        restored: Callable[[Any, dict[str, NDArray]], Release] = _refuse,
    ) -> "StrataModel":
        """Return the model in a file; ``restored`` returns the release of a stratum."""
        by, told = By.restore(settings["by"]), settings["strata"]
        if not isinstance(told, list) or len(told) != len(by):
            raise InputError(f"the file must describe {len(by)} strata.")
        own: list[dict[str, NDArray]] = [{} for _ in told]
        for name, array in arrays.items():
            number, dot, rest = name.partition(".")
            if not (dot and number.isdecimal() and len(number) < 4 and int(number) < len(own)):
                raise InputError(f"the array {name[:40]!r} belongs to no stratum.")
            own[int(number)][rest] = array
        parts = []
        for description, named in zip(told, own, strict=True):
            if isinstance(description, Mapping) and description.get("kind") == cls.kind:
                raise InputError("strata cannot hold strata; the file is damaged or was changed.")
            parts.append(restored(description, named))
        if any(part.region != region for part in parts):
            raise InputError("all strata must have the region of the file.")
        tz = settings.get("tz")
        if not isinstance(tz, str | None):
            raise InputError("the time zone of strata must be a text.")
        return cls(by, tuple(parts), tz)


def refuse_disagreeing(whole: Release) -> None:
    """Raise InputError unless a release of a file states what the releases of its strata do."""
    model, unit = whole.model, replace(whole.unit, n_public=False)
    assert isinstance(model, StrataModel)  # noqa: S101
    known = whole.n if whole.unit.n_public and model.by.complete else None
    told = StratifiedRelease.of(model.by, model.strata, whole.unit, known).whole
    alike = ("method", "hyperparameters", "epsilon", "delta", "replayable")
    parts = [(part, (*alike, "unit"), replace(told, unit=unit)) for part in model.strata]
    for one, names, other in (*parts, (whole, (*alike, "spends", "n"), told)):
        for name in names:
            if getattr(one, name) != getattr(other, name):
                raise InputError(
                    f"damaged: {name!r} of the file and of its strata contradict each other."
                )


def pooled(by: By, whole: Release, parts: Sequence[Release]) -> list[Release]:
    """Return releases of strata that add up to one of all, whose cost is then a part of theirs."""
    cost = of_all(by, whole.spends)
    first, *rest = (part.model for part in (whole, *parts))
    drawn = drawn_together(first, rest, 1 / whole.record_epsilon)  # pyright: ignore
    return [
        replace(
            part, epsilon=part.epsilon + cost.epsilon, spends=(cost, *part.spends), model=model, n=n
        )
        for part, (model, n) in zip(parts, drawn, strict=True)
    ]


def by_stratum(found: Estimates, by: By, level: float = DEFAULT_LEVEL) -> pd.DataFrame:
    """Return the answers of each stratum, from the answers of their sum."""
    labelled = zip(found.strata, by.labels, strict=True)
    frame = together(((each, {by.name: label}) for each, label in labelled), level)
    return frame.reset_index(drop=True)


@dataclass(frozen=True, eq=False, repr=False)
class StratifiedRelease(Mapping[str, Release]):
    """Releases of the strata of a dataset, such as one for each hour, at the epsilon of one.

    A person's records are divided among the strata, so all releases together cost the epsilon of
    one (see ``snhkit.privacy.spend``). It is a mapping of labels to releases, which maps and
    figures of several releases take. The number of records of each stratum is private, even if
    the number of all records is public. Such an object is made by ``PrivateDataset.release`` with
    ``by``, and by ``load``.

    Parameters
    ----------
    whole : Release
        The sum over strata.

    Examples
    --------
    >>> import numpy as np
    >>> import snhkit as snh
    >>> city = snh.Region.around(lat=37.76, lon=-122.43, side_m=1_000)
    >>> times = np.arange(500) * 3_600
    >>> records = snh.Points(city, np.full((500, 2), 400.0), time=times)
    >>> data = snh.PrivateDataset(records, budget=1, unit="record")
    >>> day = data.release("ug", epsilon=0.4, by=snh.By.hour(step=8))
    >>> list(day)
    ['00-07', '08-15', '16-23']
    >>> day.estimate(snh.RangeQueries(city, [300], [300], [200], [200]))["hour"].tolist()
    ['00-07', '08-15', '16-23']
    >>> float(data.ledger.spent)
    0.4
    """

    whole: Release

    @classmethod
    def of(
        cls, by: By, parts: Sequence[Release], unit: PrivacyUnit, n: int | None,
        tz: str | None = None,
    ) -> "StratifiedRelease":  # fmt: skip
        """Return releases of all strata as one, with the unit, n (if public) and zone of all."""
        first, told = parts[0], [part.n for part in parts]
        known = [number for number in told if number is not None]
        spends = in_strata(by, [part.spends for part in parts])
        return cls(
            Release(
                method=first.method,
                hyperparameters=first.hyperparameters,
                epsilon=first.epsilon,
                unit=unit,
                n=n if n is not None else sum(known) if len(known) == len(told) else None,
                replayable=first.replayable,
                spends=spends,
                model=StrataModel(by, tuple(parts), tz if by.times else None),
                delta=first.delta,
            )
        )

    @classmethod
    def within(cls, release: Release) -> "StratifiedRelease | None":
        """Return the releases of the strata of which a release is the sum; None if it is none."""
        return cls(release) if isinstance(release.model, StrataModel) else None

    @property
    def _strata(self) -> StrataModel:
        if not isinstance(self.whole.model, StrataModel):
            raise InputError("this release has no strata.")
        return self.whole.model

    @property
    def by(self) -> By:
        """The strata into which the records were divided."""
        return self._strata.by

    @property
    def checksum(self) -> str:
        """The SHA-256 of the file that ``save`` writes, as ``"sha256:"`` and 64 hex digits."""
        return self.whole.checksum

    def __getitem__(self, label: str) -> Release:
        """Return the release of one stratum; it hides the addition or removal of one unit."""
        if label not in self.by.labels:
            raise InputError(
                f"there is no stratum {label!r}; the strata are {', '.join(self.by.labels)}."
            )
        return self._strata.strata[self.by.labels.index(label)]

    def __iter__(self) -> Iterator[str]:
        return iter(self.by.labels)

    def __len__(self) -> int:
        return len(self.by)

    def total(self) -> Release:
        """Return the sum over strata as one release, which any function for releases takes."""
        return self.whole

    def estimate(self, queries: Queries, level: float = DEFAULT_LEVEL) -> pd.DataFrame:
        """Return a row for each query and stratum, as ``Release.estimate`` returns for one release.

        The rows of all queries for the first stratum come first. One more column, called
        ``by.name`` (such as "hour"), has the label of the stratum.
        """
        return by_stratum(Estimates.of(self.whole, queries), self.by, level)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write all strata to one file, which ``load`` reads; return the path."""
        return self.whole.save(path)

    def to_bytes(self) -> bytes:
        """Return the content of the file that ``save`` writes."""
        return self.whole.to_bytes()

    def card(self) -> dict[str, str]:
        """Return the card of all strata together, as text by heading."""
        return self.whole.card()

    def __repr__(self) -> str:
        return repr(self.whole)

    def _repr_html_(self) -> str:
        return self.whole._repr_html_()
