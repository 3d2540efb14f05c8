"""Parts of invented cities, for lectures that build many releases in little time."""

import numpy as np

from snhkit.geometry import Grid, Points, Region


def quarter(
    city: str, n: int, side_m: float, shift_m: tuple[float, float] = (0.0, 0.0)
) -> tuple[Points, Points]:
    """Return records and public check-ins of the square around a city's busiest place.

    The busiest place is the cell of 100 m with most public check-ins, so no record decides the
    square. The records are those of ``n`` invented ones of the city that lie in the square.

    Parameters
    ----------
    city : str
        A name of an invented city, as for ``synthetic_points``.
    n : int
        The number of records in the whole city.
    side_m : float
        The width of the square, in metres.
    shift_m : (float, float)
        How far the square's centre lies to the east and to the north of the busiest place.

    Examples
    --------
    >>> records, public = quarter("fargo", 1_000, side_m=2_000)
    >>> records.region == public.region
    True
    """
    from snhkit.data import read_points, synthetic_points  # these need Arrow

    everybody = synthetic_points(city, world="public")
    spots = Grid.of_width(everybody.region, 100)
    cell = divmod(int(spots.count(everybody).counts.argmax()), spots.m)
    middle = (np.array(cell) + 0.5) * spots.cell_m + shift_m
    (lat,), (lon,) = spots.region.to_latlon(middle[None])
    square = Region.around(lat=lat, lon=lon, side_m=side_m)

    def inside(points: Points) -> Points:
        degrees = np.column_stack(points.region.to_latlon(points.xy))
        return read_points(degrees, square, report=lambda report: None)

    return inside(synthetic_points(city, n=n)), inside(everybody)
