"""The columns to read: which hold latitudes, longitudes, users and times, and the filters."""

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

import pyarrow as pa
from pyproj import CRS
from pyproj.exceptions import CRSError

from snhkit.checks import cut
from snhkit.data.sources.geo import Geometry, geometry_of
from snhkit.data.sources.people import id_family, person_keys
from snhkit.data.sources.times import instant, zone
from snhkit.errors import InputError
from snhkit.geometry.strata import By

MAX_COLUMNS = 10_000  # of a file that names or numbers its columns
# If several names match, those of an earlier group take precedence.
_USUAL = {
    "lat": (("lat", "latitude"), ("y",)),
    "lon": (("lon", "lng", "long", "longitude"), ("x",)),
    "user": (("user", "user_id", "uid"), ("person", "person_id", "device", "device_id")),
}
_POINTS = frozenset(
    ("geometry", "geom", "thegeom", "wkb", "wkt", "point", "location", "geolocation", "latlon")
)
_MEANING = {"lat": "latitude", "lon": "longitude", "user": "user"}


@dataclass(frozen=True)
class Rules:
    """The columns to read from a source, by name or position from 0, and the filters of rows."""

    lat: str | int | None = None
    lon: str | int | None = None
    user: str | int | None = None
    time: str | int | None = None
    since: int | None = None  # microseconds since 1970 in UTC
    until: int | None = None
    users: frozenset[int] | None = None  # the keys of those whose rows are read
    people: str = "named"  # "needed", "found" (if a column has a usual name) or "named" in user
    tz: str | None = None  # of times that name none, and of days
    degrees: float = 1.0  # in a unit of lat and lon
    point: str | int | None = None  # a column of texts such as "(37.76, -122.43)"
    crs: str | None = None  # of lat and lon, if these are not degrees
    by: By | None = None  # divides the rows into strata

    @property
    def ids_required(self) -> bool:
        """Whether rows without a user id are unusable."""
        return self.people == "needed" or self.user is not None


def rules_of(
    *, since: object = None, until: object = None, users: Iterable[Any] | None = None,
    tz: str | None = None, degrees: float = 1.0, crs: object = None, **columns: Any,
) -> Rules:  # fmt: skip
    """Return the ``Rules`` for arguments of ``read_points`` and ``scan_points``."""
    if isinstance(users, (str, bytes)) or not isinstance(users, (Iterable, type(None))):
        raise InputError(f"users must be a list of user ids, such as [{users!r}], not {users!r}.")
    if not isinstance(degrees, (int, float)) or not 0 < degrees <= 1:
        raise InputError(
            f"degrees must be the size of a unit of lat and lon, such as 1e-6, not {degrees!r}."
        )
    there = None if tz is None else zone(tz)
    times = {
        name: None if value is None else instant(name, value, there)
        for name, value in (("since", since), ("until", until))
    }
    system = None if crs is None else _crs(crs)
    wanted = None if users is None else frozenset(key for one in users for key in _keys(one))
    return Rules(users=wanted, tz=there, degrees=float(degrees), crs=system, **times, **columns)


def _keys(user: object) -> list[int]:
    """Return the keys of a user id: as text and, if a source may have it as bytes, as bytes."""
    held = user.bytes if isinstance(user, UUID) else user
    forms = [str(user), held] if isinstance(held, bytes) else [str(user)]
    return [int(person_keys(pa.array([form]))[0][0]) for form in forms]


def _crs(given: object) -> str:
    try:
        return CRS.from_user_input(given).to_json()
    except CRSError:
        raise InputError(
            f"crs must be a reference system such as 'EPSG:26971', not {given!r}."
        ) from None


@dataclass(frozen=True)
class Layout:
    """The columns of a source: the names of all, and the positions of some by role."""

    names: tuple[str, ...]
    roles: tuple[tuple[str, int], ...]
    geometry: Geometry | None = None
    ids: tuple[str, str] = ("", "")  # the family (see ``id_family``) and type of user ids
    beside: str = ""  # describes another file, whose ids are numbers while these are text

    @property
    def columns(self) -> dict[str, str]:
        """The name of each column to read, by role."""
        return {role: self.names[at] for role, at in self.roles}

    def with_ids(self, kind: pa.DataType) -> "Layout":
        """Return this layout with the type of the user ids."""
        return replace(self, ids=(id_family(kind), str(kind)))

    @property
    def swap(self) -> str:
        """What to do if latitude and longitude are swapped, as a phrase for messages."""
        at = dict(self.roles)
        if "lat" not in at:
            order = "(longitude, latitude)" if "geometry" in at else "(latitude, longitude)"
            return f"write each point as {order}"
        return f"pass lat={self.names[at['lon']]!r}, lon={self.names[at['lat']]!r}"


def layout_of_schema(source: str, schema: pa.Schema, rules: Rules) -> Layout:
    """Return where the columns of an Arrow schema are; see ``layout_of``."""
    geometry = geometry_of(source, schema) if rules.point is None else None
    layout = layout_of(source, schema.names, rules, geometry)
    for name in layout.columns.values():
        if layout.names.count(name) > 1:
            raise InputError(f"{source}: two columns are called {name!r}; rename one.")
    user = layout.columns.get("user")
    return layout if user is None else layout.with_ids(schema.field(user).type)


def layout_of(
    source: str, names: Sequence[object], rules: Rules, geometry: Geometry | None = None
) -> Layout:
    """Return where the columns are; a ``geometry`` is used unless the rules name other columns."""
    texts = [str(name) for name in names]
    roles: dict[str, int] = {}
    if rules.point is not None:
        if rules.lat is not None or rules.lon is not None:
            raise InputError(f"{source}: give either point, or lat and lon.")
        roles["point"] = _find_said(source, texts, "point", rules.point)
        geometry = None
    elif geometry is not None and rules.lat is None and rules.lon is None:
        roles["geometry"] = texts.index(geometry.column)
    else:
        geometry = None
        for role, said in (("lat", rules.lat), ("lon", rules.lon)):
            found = _find(source, texts, role, said)
            if found is None:
                usual = ", ".join(name for group in _USUAL[role] for name in group)
                raise InputError(
                    f"{source}: no column has a common name of a {_MEANING[role]} ({usual}). "
                    f"{_listing(texts)} Say which it is: {role}=..., by name or position from 0."
                    f"{_hint(texts)}"
                )
            roles[role] = found
    user = None
    if rules.user is not None or rules.people != "named":
        user = _find(source, texts, "user", rules.user)
    if user is not None:
        roles["user"] = user
    if rules.time is not None:
        roles["time"] = _find_said(source, texts, "time", rules.time)
    if rules.by is not None and rules.by.times and "time" not in roles:
        raise InputError(
            f"{source}: strata by {rules.by.name} need the column of times; give time=..., the "
            "name of the column."
        )
    if len(set(roles.values())) < len(roles):
        raise InputError(f"{source}: lat, lon, user and time must be different columns.")
    if rules.by is not None and rules.by.from_column is not None:
        roles["by"] = _find_said(source, texts, "by", rules.by.from_column)
    _refuse_unknown_filters(rules, roles)
    return Layout(tuple(texts), tuple(roles.items()), geometry)


def _refuse_unknown_filters(rules: Rules, found: dict[str, int]) -> None:
    if (rules.since, rules.until) != (None, None) and "time" not in found:
        raise InputError(
            "the filters since and until need the column of times; give time=..., the name of "
            "the column."
        )
    if rules.people == "needed" and "user" not in found:
        raise InputError(
            "unit='user' needs the user of each record, and no column has a usual "
            "name for users; name the column with user=..., or protect single "
            "records only, with unit='record'."
        )
    if rules.users is not None and "user" not in found:
        raise InputError(
            "the filter users needs the column of user ids; give user=..., the name of the column."
        )


def refuse_other_columns(files: Sequence[tuple[str, Layout]]) -> None:
    """Raise InputError if files have different columns for latitude, longitude, user or time."""
    first_file, first = files[0]
    for file, layout in files[1:]:
        for role in sorted({*first.columns, *layout.columns}):
            names = [columns.get(role) for columns in (layout.columns, first.columns)]
            if None in names or _plain(str(names[0])) != _plain(str(names[1])):
                there, here = ("missing" if name is None else _shown(name) for name in names)
                raise InputError(
                    f"the column of {role} is {there} in {file}, but {here} in {first_file}; "
                    "rename or add one, or read the files apart."
                )


def said_position(said: str | int | None, names: Sequence[str] = ()) -> int | None:
    """Return the position that an argument gives, as 3 or as text that is no column's name."""
    if isinstance(said, str) and said.isdecimal() and len(said) < 6 and said not in names:
        return int(said)
    return said if isinstance(said, int) else None


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
    position = said_position(said, names)
    if position is not None:
        if 0 <= position < len(names):
            return position
        raise InputError(
            f"{source}: {role}={position} is out of range; columns are numbered from 0 to "
            f"{len(names) - 1}."
        )
    for same in (str, _plain):
        found = [i for i, name in enumerate(names) if same(name) == same(str(said))]
        if len(found) > 1:
            raise InputError(
                f"{source}: {len(found)} columns are called {_shown(str(said))}; "
                f"give a position from 0 instead: {role}={found[0]}."
            )
        if found:
            return found[0]
    near = difflib.get_close_matches(str(said), names[:1000], n=1)
    meant = f" Did you mean {_shown(near[0])}?" if near else ""
    raise InputError(f"{source}: no column is called {_shown(str(said))}.{meant} {_listing(names)}")


def _hint(names: list[str]) -> str:
    held = [name for name in names if _plain(name) in _POINTS]
    if not held:
        return ""
    return (
        f" If {_shown(held[0])} holds points, as WKB, WKT or '(latitude, longitude)', give "
        f"point={_shown(held[0])}."
    )


def _plain(name: str) -> str:
    return "".join(filter(str.isalnum, name[:100].casefold()))


def _shown(name: str) -> str:
    return repr(cut(name))


def _listing(names: list[str]) -> str:
    if not names:
        return "It has no columns."
    more = f" and {len(names) - 20:,} more" if len(names) > 20 else ""
    return f"Its columns are {', '.join(map(_shown, names[:20]))}{more}."
