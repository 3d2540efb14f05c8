"""Reading of releases from files; each file names the class of its model."""

import os
from typing import Any

from numpy.typing import NDArray

from snhkit.errors import InputError, ReleaseFileError, SnhkitError
from snhkit.geometry import Region
from snhkit.models import GridModel, Model, PackedGridModel, PartitionModel
from snhkit.release import Release, file
from snhkit.release.file import check_header
from snhkit.release.strata import StrataModel, StratifiedRelease, refuse_disagreeing

# The exceptions that a model's restore may raise if its settings have wrong types.
_DAMAGE = (
    LookupError, TypeError, ValueError, ArithmeticError, RecursionError, AttributeError,
)  # fmt: skip


def load(path: str | os.PathLike[str]) -> Release | StratifiedRelease:
    """Return the release in a file that ``Release.save`` wrote.

    Files from untrusted sources can be read: no code in a file is run, and the arrays cannot be
    larger than the file.

    Parameters
    ----------
    path : str or path
        The file, in the safetensors format.

    Returns
    -------
    Release or StratifiedRelease
        The release, with the same answers as the release that was saved; a ``StratifiedRelease`` if
        the file holds strata.

    Raises
    ------
    ReleaseFileError
        If the file does not hold a release, is damaged, or was written by a newer or a much older
        version of snhkit.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import snhkit as snh
    >>> records = snh.synthetic_points("milwaukee", n=1_000)
    >>> data = snh.PrivateDataset(records, budget=1, unit="record", n_public=True)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = data.release(snh.UniformGrid(), epsilon=0.5).save(Path(folder) / "city.snh")
    ...     print(snh.load(path).method)
    UniformGrid
    """
    description, arrays = file.read(path)
    try:
        made = _restored(description, arrays)
        return StratifiedRelease(made) if isinstance(made.model, StrataModel) else made
    except SnhkitError as error:
        raise ReleaseFileError(f"{path}: {error}") from None
    except _DAMAGE as error:
        raise ReleaseFileError(
            f"{path}: damaged: {type(error).__name__} in its description ({error})."
        ) from None


def _restored(description: Any, arrays: dict[str, NDArray]) -> Release:
    """Return the release that a description and arrays define, after a check of all of them."""
    file.check_format(description)
    description = check_header(description)
    region, settings = Region(**description["region"]), description["settings"]
    kind = _kind(description["kind"])
    if kind is StrataModel:
        model = StrataModel.restore(region, arrays, settings, _restored)
        made = Release.restore(description, model)
        refuse_disagreeing(made)
        return made
    file.check_arrays(arrays, getattr(kind, "packed_dtype", None))
    file.check_numbers(settings)
    return Release.restore(description, kind.restore(region, arrays, settings))


def _kind(name: str) -> type[Model]:
    """Return the model class whose ``kind`` is ``name``; slow imports are made only if needed."""
    match name:
        case GridModel.kind:
            return GridModel
        case PartitionModel.kind:
            return PartitionModel
        case "tessellation":
            from snhkit.release.polygon_model import PolygonModel

            return PolygonModel
        case PackedGridModel.kind:
            return PackedGridModel
        case StrataModel.kind:
            return StrataModel
        case "snh":
            from snhkit.neural.networks.model import SNHModel

            return SNHModel
        case "dpsgd":
            from snhkit.neural.dpsgd import NetworkModel

            return NetworkModel
        case "prior":
            raise InputError(
                "the file was written by an earlier version of snhkit, in which DenoisedGrid was "
                "named SNH. Release the records again with DenoisedGrid (--method denoised)."
            )
        case _:
            raise InputError(
                f"the kind of model {name!r} is unknown to this version of snhkit. Install a "
                "newer one."
            )
