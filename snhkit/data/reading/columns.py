"""Search for the columns that hold latitudes, longitudes, user ids and times."""

import difflib
from collections.abc import Sequence
from typing import NamedTuple

from snhkit.errors import InputError

__all__ = ["Columns", "find_column", "find_columns", "find_user"]

# If several names match, those of an earlier group take precedence.
_USUAL = {
    "lat": (("lat", "latitude"), ("y",)),
    "lon": (("lon", "lng", "long", "longitude"), ("x",)),
    "user": (("user", "user_id", "uid"), ("person", "person_id", "device", "device_id")),
}
_MEANING = {"lat": "latitude", "lon": "longitude", "user": "user"}


class Columns(NamedTuple):
    """Positions, from 0, of the columns of latitude, longitude, user and time; None if absent."""

    lat: int
    lon: int
    user: int | None
    time: int | None = None


def find_columns(
    source: str,
    names: Sequence[object],
    lat: str | int | None,
    lon: str | int | None,
    user: str | int | None,
    time: str | int | None = None,
) -> Columns:
    """Return the positions of the columns of latitude, longitude, user and time.

    If ``lat``, ``lon`` or ``user`` is None, the column is recognised by a common name. If ``time``
    is None, there is no column of times.

    Parameters
    ----------
    source : str
        Name of the source, for messages.
    names : sequence
        The names of the columns.
    lat, lon, user, time : str or int, optional
        The name of each column, or its position from 0.

    Raises
    ------
    InputError
        If a column is missing, or several columns match; the message lists the columns.

    Examples
    --------
    >>> find_columns("trips.csv", ["UserID", "Latitude", "lng", "y"], None, None, None)
    Columns(lat=1, lon=2, user=0, time=None)
    """
    texts = [str(name) for name in names]
    at_lat = _find(source, texts, "lat", lat)
    at_lon = _find(source, texts, "lon", lon)
    if at_lat is None or at_lon is None:
        missing = "lat" if at_lat is None else "lon"
        usual = ", ".join(name for group in _USUAL[missing] for name in group)
        raise InputError(
            f"{source}: no column has a common name of a {_MEANING[missing]} ({usual}). "
            f"{_listing(texts)} Say which it is: {missing}=..., by name or position from 0."
        )
    at_time = None if time is None else _find_said(source, texts, "time", time)
    found = Columns(at_lat, at_lon, _find(source, texts, "user", user), at_time)
    there = [position for position in found if position is not None]
    if len(set(there)) < len(there):
        raise InputError(f"{source}: lat, lon, user and time must be different columns.")
    return found


def find_user(source: str, names: Sequence[object], user: str | int | None) -> int | None:
    """Return the position of the column of user ids; None if there is none.

    If ``user`` is None, the column is recognised by a common name.
    """
    return _find(source, [str(name) for name in names], "user", user)


def find_column(source: str, names: Sequence[object], role: str, said: str | int) -> int:
    """Return the position of a column that is given by its name or by its position from 0.

    Parameters
    ----------
    source : str
        Name of the source, for messages.
    names : sequence
        The names of the columns.
    role : str
        The argument that gives the column, such as "lat", for messages.
    said : str or int
        The name or the position.

    Raises
    ------
    InputError
        If there is no such column.
    """
    return _find_said(source, [str(name) for name in names], role, said)


def _find(source: str, names: list[str], role: str, said: str | int | None) -> int | None:
    if said is not None:
        return _find_said(source, names, role, said)
    plain = [_plain(name) for name in names]
    for group in _USUAL[role]:
        usual = {_plain(name) for name in group}
        found = [i for i, name in enumerate(plain) if name in usual]
        if len(found) > 1:
            both = " or ".join(_shown(names[i]) for i in found[:2])
            raise InputError(
                f"{source}: {both} could be the {_MEANING[role]}. "
                f"Say which it is, by name or position from 0, as in {role}={found[0]}."
            )
        if found:
            return found[0]
    return None


def _find_said(source: str, names: list[str], role: str, said: str | int) -> int:
    if isinstance(said, int):
        if 0 <= said < len(names):
            return said
        raise InputError(
            f"{source}: {role}={said} is out of range; columns are numbered from 0 to "
            f"{len(names) - 1}."
        )
    for same in (str, _plain):
        found = [i for i, name in enumerate(names) if same(name) == same(said)]
        if len(found) > 1:
            raise InputError(
                f"{source}: {len(found)} columns are called {_shown(said)}; "
                f"give a position from 0 instead: {role}={found[0]}."
            )
        if found:
            return found[0]
    near = difflib.get_close_matches(said, names[:1000], n=1)
    meant = f" Did you mean {_shown(near[0])}?" if near else ""
    raise InputError(f"{source}: no column is called {_shown(said)}.{meant} {_listing(names)}")


def _plain(name: str) -> str:
    return "".join(filter(str.isalnum, name[:100].casefold()))


def _shown(name: str) -> str:
    return repr(name if len(name) <= 40 else name[:37] + "...")


def _listing(names: list[str]) -> str:
    if not names:
        return "It has no columns."
    more = f" and {len(names) - 20:,} more" if len(names) > 20 else ""
    return f"Its columns are {', '.join(map(_shown, names[:20]))}{more}."
