"""The twelve cities of the SNH paper: their regions, and numbers that its authors published."""

import difflib
from dataclasses import dataclass
from typing import Literal

from snhkit.errors import InputError
from snhkit.geometry import Region

_BOX_M = 12_430.0


@dataclass(frozen=True)
class City:
    """A city of the SNH paper, with its region and numbers that the paper's authors published.

    Parameters
    ----------
    key : str
        The name of the city in code, like ``"kansas_city"``.
    name : str
        The name of the city, such as "Kansas City".
    lat, lon : float
        Centre in degrees (the paper's table of cities, Sec. 6.1).
    density : {"low", "medium", "high"}
        The paper's class of population density: below 1,000, from 1,000 to 4,000, or above 4,000
        people per square mile.
    published_as : str
        The name of the city in the data that the paper's authors published.
    entropy_512_nats : float
        The published Shannon entropy, in nats, of a 512 by 512 histogram of the Gowalla check-ins
        over their bounding box.
    n_at_entropy : int
        The number of check-ins from which ``entropy_512_nats`` was computed.
    side_m : float
        Side of the region in metres.

    Examples
    --------
    >>> city("milwaukee").region
    Region(lat=43.038, lon=-87.91, side_m=12430.0)

    Notes
    -----
    The paper states regions of 20 km by 20 km. The authors' data, however, lie in boxes of 12.43 km
    (Boston: 24.86 km). The paper's query sizes, 25 to 100 m, and the published entropies are
    correct only for these smaller boxes, so ``region`` is the smaller box.
    """

    key: str  # such as "kansas_city"
    name: str
    lat: float  # of the centre, in the table of Sec. 6.1
    lon: float
    density: Literal["low", "medium", "high"]  # people per square mile: from 1,000, or above 4,000
    published_as: str  # in the authors' data
    entropy_512_nats: float  # of Gowalla check-ins over their bounding box
    n_at_entropy: int  # the number of these check-ins
    side_m: float = _BOX_M

    @property
    def region(self) -> Region:
        """The square of side ``side_m`` around the city's centre."""
        return Region.around(self.lat, self.lon, self.side_m)


CITIES: dict[str, City] = {
    c.key: c
    for c in (
        City("fargo", "Fargo", 46.877, -96.789, "low", "fargo", 4.007187, 270),
        City("kansas_city", "Kansas City", 39.09, -94.59, "low", "kansas_city", 6.171421, 15_735),
        City("salt_lake", "Salt Lake City", 40.73, -111.926, "low", "salt_lake", 5.874959, 6_976),
        City("tulsa", "Tulsa", 36.153, -95.992, "low", "tulsa", 5.792334, 4_307),
        City("phoenix", "Phoenix", 33.448, -112.073, "medium", "phoenix", 4.833426, 6_567),
        City("los_angeles", "Los Angeles", 34.02, -118.29, "medium", "la", 6.860817, 15_265),
        City("houston", "Houston", 29.747, -95.365, "medium", "harris", 7.036337, 20_653),
        City("milwaukee", "Milwaukee", 43.038, -87.910, "medium", "milwaukee", 6.214963, 6_231),
        City("miami", "Miami", 25.801, -80.256, "high", "miami", 5.597373, 5_372),
        City("chicago", "Chicago", 41.880, -87.70, "high", "cook", 7.340522, 24_793),
        City("san_francisco", "San Francisco", 37.764, -122.43, "high", "sf", 7.797943, 149_820),
        City("boston", "Boston", 42.360, -71.058, "high", "boston", 7.403692, 40_299, 2 * _BOX_M),
    )
}
"""The twelve cities of the SNH paper by key, from low to high density."""

_BY_NAME = {
    _plain: c
    for c in CITIES.values()
    for _plain in (c.key, c.published_as, c.name.lower().replace(" ", "_"))
}


def city(name: "str | City") -> City:
    """Return the city of the SNH paper with a given key or name.

    Parameters
    ----------
    name : str or City
        The ``key``, ``name`` or ``published_as`` of a city; a City is returned unchanged.

    Returns
    -------
    City
        The city.

    Raises
    ------
    InputError
        If no city has this name; the message lists similar keys and all keys.

    Examples
    --------
    >>> city("San Francisco").key, city("sf").key
    ('san_francisco', 'san_francisco')
    >>> city("chicgo")
    Traceback (most recent call last):
    snhkit.errors.InputError: no city is called 'chicgo'; did you mean chicago? The cities are: ...
    """
    if isinstance(name, City):
        return name
    plain = "_".join(str(name).lower().replace("_", " ").replace("-", " ").split())
    if plain in _BY_NAME:
        return _BY_NAME[plain]
    near = dict.fromkeys(_BY_NAME[one].key for one in difflib.get_close_matches(plain, _BY_NAME))
    meant = f"; did you mean {' or '.join(near)}?" if near else "."
    raise InputError(
        f"no city is called {str(name)[:60]!r}{meant} The cities are: {', '.join(CITIES)}."
    )
