"""Python code, as text, that builds given releases again and answers given boxes."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from snhkit import neural
from snhkit.builders.base import hyperparameters
from snhkit.dataset import PrivateDataset
from snhkit.errors import InputError
from snhkit.geometry import Region
from snhkit.geometry.strata import OTHER
from snhkit.methods import METHODS, key_of
from snhkit.privacy import PrivacyUnit, written
from snhkit.privacy.stored_ledger import StoredLedger
from snhkit.release import Release
from snhkit.release.strata import StrataModel

_ANEW = """\
# Each release draws new noise and spends epsilon again, so its counts differ from those before.
# To keep the same counts, save the release and read it with snh.load."""

_TESSELLATION = 'snh.Tessellation(geopandas.read_file("districts.geojson"))'
"""Code for a ``Tessellation``. A release does not store where its districts were read from, so
"districts.geojson" is a placeholder."""


def from_synthetic_city(key: str, n: int) -> str:
    """Return code that defines n invented ``records`` and ``public`` points of a city."""
    return (
        f'records = snh.synthetic_points("{key}", {n})\n'
        f'public = snh.synthetic_points("{key}", world="public")'
    )


def from_files(
    region: Region, path: str, columns: Iterable[tuple[str, str]] = (), public: str | None = None
) -> str:
    """Return code that reads ``records``, with ``columns`` for ``read_points``, and ``public``."""
    chosen = "".join(f", {name}={column!r}" for name, column in columns)
    theirs = "None" if public is None else f"snh.read_points({public!r}, region)"
    place = f"lat={region.lat!r}, lon={region.lon!r}, side_m={region.side_m!r}"
    return (
        f"region = snh.Region.around({place})\n"
        f"records = snh.read_points({path!r}, region{chosen})  # private\n"
        f"public = {theirs}"
    )


def account(unit: PrivacyUnit, budget: str, *, n_public: bool) -> str:
    """Return code that defines ``data``, the records with the argument ``budget`` or ``ledger``."""
    most = f", max_per_user={unit.max_per_user}" if unit.max_per_user else ""
    most += "" if unit.whose == "person" else f", whose={unit.whose!r}"
    declared = "    n_public=True,\n" if n_public else ""
    return (
        f'data = snh.PrivateDataset(\n    records,\n    {budget}\n    unit="{unit.kind}"{most},\n'
        f"{declared})"
    )


def code(
    source: str,
    dataset: PrivateDataset,
    releases: Mapping[str, Release],
    degrees: Sequence[Sequence[float]],
    *,
    ledger: str = "",
) -> str:
    """Return a program that builds releases again and prints their counts of boxes.

    ``source`` defines ``records`` and ``public``; ``degrees`` are south, west, north and east of
    the boxes. ``ledger`` is its path for code that others may read; by default the dataset's.
    """
    kept, unit = dataset.ledger, dataset.unit
    # A ledger in a file holds the budget. With a new ledger, past spends would be ignored.
    if isinstance(kept, StoredLedger):
        budget = f"ledger={(ledger or str(kept.path))!r},  # continues with the budget that is left"
    elif kept.delta:
        budget = f'budget=snh.Budget("{written(kept.total)}", delta="{written(kept.delta)}"),'
    else:
        budget = f'budget="{written(kept.total)}",'
    frames = any(release.method == "Tessellation" for release in releases.values())
    parts = [
        f"{'import geopandas' if frames else ''}\nimport snhkit as snh\n\n{source}".lstrip(),
        account(unit, budget, n_public=unit.n_public),
    ]
    if releases:
        lines = []
        for name, release in releases.items():
            delta = f', delta="{written(release.delta)}"' if release.rho else ""
            price = f'epsilon="{written(release.epsilon)}"{delta}'
            given = f"{_builder(release)}, {price}, public=public{_by(release)}"
            lines.append(f'    "{name}": data.release({given}),')
        parts[-1] += "\n\n" + "\n".join([_ANEW, "releases = {", *lines, "}"])
    if len(degrees):
        sides = np.reshape(np.asarray(degrees, float), (-1, 4)).T.tolist()
        names = ("south", "west", "north", "east")
        lines = (f"    {name}={values}," for name, values in zip(names, sides, strict=True))
        parts.append(
            "boxes = snh.RangeQueries.from_degrees(\n    data.region,\n" + "\n".join(lines) + "\n)"
        )
    if releases and len(degrees):
        divided = any(isinstance(one.model, StrataModel) for one in releases.values())
        sums = "{name: release.total() for name, release in releases.items()}"
        shown = sums if divided else "releases"
        parts.append(
            "for name, release in releases.items():\n"
            '    print(name, release.estimate(boxes).round(1), sep="\\n")  # nan: not known\n'
            f"fmap = snh.compare_map({shown}, boxes)"
        )
    return "\n\n".join(parts) + "\n"


def _by(release: Release) -> str:
    """Return code for the argument ``by`` of a release of strata, else no text."""
    if not isinstance(release.model, StrataModel):
        return ""
    by = release.model.by
    if by.from_column is None:
        return f", by=snh.By.{by.kind}({'' if by.step == 1 else by.step})"
    values, other = [label for label in by.labels if label != OTHER], OTHER in by.labels
    return f", by=snh.By.column({by.from_column!r}, {values}{'' if other else ', other=False'})"


def _builder(release: Release) -> str:
    """Return the code that makes the builder of a release."""
    told, key = release.hyperparameters, key_of(release)
    if key == "snh-paper":
        own = {name: value for name, value in told.items() if name != "networks"}
        return _call("snh.SNH.paper", own, hyperparameters(neural.SNH.paper()))
    if release.method == "Tessellation":
        return _TESSELLATION
    if key is None and release.method != "SNH":
        raise InputError(
            f"{release.method} is not a method of snhkit, so no code can be written for it; "
            "write the call of its builder yourself."
        )
    kind = type(METHODS[key or "snh"].builder())
    return _call(f"snh.{release.method}", told, hyperparameters(kind()))


def _call(name: str, told: Mapping[str, Any], usual: Mapping[str, Any]) -> str:
    """Return the code of a call of ``name``, with the arguments that differ from the defaults."""
    differing = {key: value for key, value in told.items() if value != usual.get(key)}
    return f"{name}({', '.join(f'{key}={_value(key, v)}' for key, v in differing.items())})"


def _value(name: str, value: Any) -> str:
    """Return the Python expression for a hyperparameter that was stored as a JSON value."""
    if isinstance(value, dict):
        part = _part(name, value)
        return _call(f"snh.{type(part).__name__}", value, hyperparameters(part))
    return repr(tuple(value) if isinstance(value, list) else value)


def _part(name: str, value: Mapping[str, Any]) -> Any:
    """Return a default instance of the class that the JSON value of a hyperparameter describes."""
    if name == "network":
        return next(
            kind
            for kind in (neural.MLP(), neural.FeatureGrid())
            if value.keys() == asdict(kind).keys()
        )
    return {"networks": neural.Networks(), "prior": neural.Prior()}[name]
