"""The file format of a release: one safetensors file whose metadata is JSON."""

import json
import os
import re
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from snhkit.errors import InputError, ReleaseFileError, SnhkitError
from snhkit.geometry import Region
from snhkit.privacy import PrivacyUnit, Spend
from snhkit.release import Model, Release

__all__ = ["encode", "load"]

FORMAT = 1
# The file names a kind; only this table says which code that is.
_KINDS = {
    "dpsgd": ("snhkit.neural.network_model", "NetworkModel"),
    "grid": ("snhkit.builders.grid_model", "GridModel"),
    "partition": ("snhkit.builders.partition_model", "PartitionModel"),
    "prior": ("snhkit.neural.prior_model", "PriorModel"),
    "snh": ("snhkit.neural.model", "SNHModel"),
}
# No count and no variance is larger, and with these all that answers need stays finite.
_LARGEST = 2**128
_DTYPES = frozenset({"float16", "float32", "float64", "int32", "int64"})
_PACKED = {"prior": "uint8"}  # what else a kind may hold: bytes that it unpacks itself


def encode(release: Release) -> bytes:
    """The bytes of a release's file."""
    about = {
        "format": FORMAT,
        "kind": release.model.kind,
        "method": release.method,
        "hyperparameters": dict(release.hyperparameters),
        "region": release.region.to_dict(),
        "epsilon": str(release.epsilon),
        "unit": {"kind": release.unit.kind, "max_per_user": release.unit.max_per_user},
        "n": release.n,
        "replayable": release.replayable,
        "spends": [_listed(spend) for spend in release.spends],
        "settings": release.model.settings(),
        "versions": dict(release.versions),
    }
    arrays = {name: np.ascontiguousarray(a) for name, a in release.model.arrays().items()}
    return save(arrays, metadata={"snhkit": json.dumps(about)})


def load(path: str | os.PathLike[str]) -> Release:
    """Read a release that ``Release.save`` wrote; the file may come from anyone.

    Parameters
    ----------
    path : str or path
        A safetensors file. Its arrays cannot be larger than the file, and no code in it runs.

    Raises
    ------
    ReleaseFileError
        If it is not a release, is damaged, or was written by a newer snhkit.
    """
    path = Path(path)
    if not path.is_file():
        raise ReleaseFileError(f"{path}: there is no such file.")
    try:
        with safe_open(path, framework="numpy") as file:
            text = (file.metadata() or {}).get("snhkit")
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, AttributeError, TypeError, ValueError) as error:
        raise ReleaseFileError(f"{path}: not a safetensors file ({error}).") from None
    if text is None:
        raise ReleaseFileError(f"{path}: a safetensors file, but not a release of snhkit.")
    try:
        return _decode(json.loads(text), arrays)
    except SnhkitError as error:
        raise ReleaseFileError(f"{path}: {error}") from None
    except (LookupError, TypeError, ValueError, ArithmeticError, RecursionError) as error:
        raise ReleaseFileError(
            f"{path}: damaged: {type(error).__name__} in its description ({error})."
        ) from None


def _decode(about: dict[str, Any], arrays: dict[str, NDArray]) -> Release:
    if about["format"] != FORMAT:
        raise InputError(f"format {about['format']} is not one this version reads ({FORMAT}).")
    if about["kind"] not in _KINDS:
        raise InputError(f"kind {about['kind']!r} is unknown to this version of snhkit.")
    for name, array in arrays.items():
        if array.dtype.name not in {*_DTYPES, _PACKED.get(about["kind"])}:
            raise InputError(f"array {name} has type {array.dtype.name}, which no release uses.")
        if array.dtype.kind == "f" and not (np.abs(array) <= np.float64(_LARGEST)).all():
            raise InputError(f"array {name} holds a number that is not finite, or above 2**128.")
    _refuse_wild(about["settings"])
    module, name = _KINDS[about["kind"]]
    kind: type[Model] = getattr(import_module(module), name)
    model = kind.restore(Region(**about["region"]), arrays, about["settings"])
    n = None if about["n"] is None else int(about["n"])
    if n is not None and n < 0:
        raise InputError(f"n must not be negative, not {n}.")
    epsilon = _fraction("an epsilon", about["epsilon"])
    if not epsilon:
        raise InputError("epsilon must be greater than 0.")
    return Release(
        method=str(about["method"]),
        hyperparameters=dict(about["hyperparameters"]),
        epsilon=epsilon,
        unit=PrivacyUnit(**about["unit"]),
        n=n,
        replayable=bool(about["replayable"]),
        spends=tuple(_spend(*parts) for parts in about["spends"]),
        model=model,
        versions={str(k): str(v) for k, v in dict(about["versions"]).items()},
    )


def _refuse_wild(value: Any) -> None:
    """Raise InputError if a number in JSON values is not finite, or larger than any we write."""
    if isinstance(value, (dict, list)):
        for part in value.values() if isinstance(value, dict) else value:
            _refuse_wild(part)
    elif isinstance(value, (int, float)) and not abs(value) <= _LARGEST:
        raise InputError("a number in its settings is not finite, or above 2**128.")


def _listed(spend: Spend) -> list[str]:
    """Epsilon, what, composition; and delta where there is one, which older versions refuse."""
    parts = [str(spend.epsilon), spend.what, spend.composition]
    return [*parts, str(spend.delta)] if spend.delta else parts


def _spend(epsilon: str, what: str, composition: Any, delta: str = "0") -> Spend:
    return Spend(
        _fraction("an epsilon", epsilon), str(what), composition, _fraction("a delta", delta)
    )


def _fraction(name: str, text: str) -> Fraction:
    # Fraction("1e999999999") would never end
    if not re.fullmatch(r"\d{1,60}(/\d{1,60})?", text):
        raise InputError(f"{name} is not a fraction of whole numbers.")
    return Fraction(text)
