"""The interface of builders: methods, with their settings, that make releases."""

from typing import Protocol

from snhkit.errors import InputError
from snhkit.geometry import Region
from snhkit.privacy import Measurements, Terms
from snhkit.release import Release


class Builder(Protocol):
    """The interface of a method: a frozen dataclass of hyperparameters with a ``build`` method.

    A builder stores hyperparameters only. Building neither changes the builder nor keeps a
    reference to the measurements. The class attribute ``gaussian = True`` marks a method that works
    with Gaussian noise as well as with Laplace noise. The privacy cost of Gaussian noise is a rho
    (zero-concentrated differential privacy) instead of an epsilon. Therefore, ``build`` of such a
    method spends ``private.left``, which is the rho or the epsilon that can still be spent.
    With Gaussian noise, ``private.epsilon`` raises an error.

    Examples
    --------
    >>> import snhkit as snh
    >>> city = snh.Region.around(lat=0, lon=0, side_m=100)
    >>> data = snh.PrivateDataset(
    ...     snh.Points(city, [[1, 1], [2, 2]]), budget=1, unit="record", n_public=True
    ... )
    >>> data.release(snh.UniformGrid(), epsilon=0.5).method  # calls check, then build
    'UniformGrid'
    """

    def check(self, region: Region, terms: Terms) -> None:
        """Raise InputError if the builder cannot make a release with this region and these terms.

        The dataset calls this method before any epsilon is charged to the ledger.

        Parameters
        ----------
        region : Region
            The public region of the records.
        terms : Terms
            The public terms of the release: the unit of privacy, epsilon and delta, the number n
            of records if n is public, and public points.

        Raises
        ------
        InputError
            If the builder cannot make a release; the message says why.
        """
        ...

    def build(self, private: Measurements) -> Release:
        """Build a release from noisy measurements of the private records.

        Parameters
        ----------
        private : Measurements
            The only access to the records. Every measurement has noise and spends a part of
            ``private.left``.

        Returns
        -------
        Release
            The release; ``snhkit.builders.base.publish`` makes it from a model.
        """
        ...


def refuse_laplace_only(builder: Builder) -> None:
    """Raise InputError if a builder does not work with Gaussian noise."""
    if not getattr(builder, "gaussian", False):
        raise InputError(
            f"{type(builder).__name__} works with Laplace noise only, so leave delta out. With a "
            "delta, use Identity, UniformGrid, QuadTree or HierarchicalGrid. Nothing was spent."
        )
