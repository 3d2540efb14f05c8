"""The interface of builders, the methods that make releases."""

from typing import Protocol

from snhkit.errors import InputError
from snhkit.geometry import Region
from snhkit.privacy import Measurements, Terms
from snhkit.release import Release

__all__ = ["Builder", "refuse_laplace_only"]


class Builder(Protocol):
    """The interface of a method: a frozen dataclass of hyperparameters with a ``build`` method.

    A builder stores hyperparameters only. Building neither changes the builder nor keeps a
    reference to the measurements. A class attribute ``gaussian = True`` says that the method also
    works with Gaussian noise. Such a method spends ``private.left``, not ``private.epsilon``.

    Examples
    --------
    >>> import snhkit as snh
    >>> city = snh.Region.around(lat=0, lon=0, side_m=100)
    >>> data = snh.PrivateDataset(
    ...     snh.Points(city, [[1, 1], [2, 2]]), budget=1, unit="record", n="public"
    ... )
    >>> data.release(snh.UniformGrid(), epsilon=0.5).method  # calls check, then build
    'UniformGrid'
    """

    def check(self, region: Region, terms: Terms) -> None:
        """Raise InputError if the builder cannot work in this region and on these terms.

        The dataset calls this method before any epsilon is charged to the ledger.

        Parameters
        ----------
        region : Region
            The public region of the records.
        terms : Terms
            The terms of the measurements that ``build`` will get.

        Raises
        ------
        InputError
            If the builder cannot work.
        """
        ...

    def build(self, private: Measurements) -> Release:
        """Build a release from noisy measurements of the private records.

        Parameters
        ----------
        private : Measurements
            The only access to the records. Every measurement has noise and spends a part of
            ``private.epsilon``.

        Returns
        -------
        Release
            The release, as ``snhkit.builders.base.publish`` makes it from the measurements.
        """
        ...


def refuse_laplace_only(builder: Builder) -> None:
    """Raise InputError unless the builder says that it works with Gaussian noise.

    Parameters
    ----------
    builder : Builder
        The builder.

    Raises
    ------
    InputError
        If it does not; the message names methods that work with Gaussian noise.
    """
    if not getattr(builder, "gaussian", False):
        raise InputError(
            f"{type(builder).__name__} has Laplace noise only, so leave delta out. With a delta, "
            "use Identity, UniformGrid, QuadTree or HierarchicalGrid. Nothing was spent."
        )
