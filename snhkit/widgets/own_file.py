"""A file of private records with its declared region, its ledger and its saved releases."""

import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

from snhkit.checks import typed_number, typed_place, typed_whole
from snhkit.data import read_points
from snhkit.data.sources.files import is_large
from snhkit.data.sources.opening import people_column
from snhkit.dataset import PrivateDataset
from snhkit.districts.districts import Districts
from snhkit.errors import InputError
from snhkit.experiment.code import from_files
from snhkit.geometry import Region
from snhkit.methods import title_of
from snhkit.privacy import NoisyQuantile, PrivacyUnit, exact
from snhkit.privacy.data_ledgers import ledger_of
from snhkit.privacy.quantile import KEPT
from snhkit.widgets.session import UNTITLED, ReleaseFolder, Session

_COLUMNS = 76  # characters in a line, without the backslash that continues the line


@dataclass(frozen=True)
class OwnFile:
    """A file of private records, and the declarations that are needed to explore it.

    The ledger is a file, so that a later session continues with the budget that is left. Releases
    are saved in a folder beside the ledger. The name of the file is never published.
    """

    path: str
    lat: float
    lon: float
    side_m: float
    ledger: str | None = None  # by default ``path`` with ``.ledger`` added
    budget: str | None = None  # needed only for a new ledger
    public: str | None = None
    districts: str | None = None
    label: str | None = None
    columns: tuple[tuple[str, str], ...] = ()  # arguments of ``read_points``, such as lat or tz
    max_per_user: int | None = None
    bound_epsilon: str | None = None  # buys a smaller ``max_per_user`` when the file is opened
    kind: str = "user"  # the unit of privacy, if ``max_per_user`` is given
    n_public: bool = False
    title: str = ""

    @classmethod
    def typed(cls, values: dict[str, str], *, alone: bool = False) -> Self:
        """Return the file that a person describes in the text fields of a form.

        InputError names the file or field that cannot be used, also if nobody said how often a
        person may appear although a column looks like people and the records are not ``alone``.
        """
        cls.found(values)
        for name in ("public", "districts"):
            text = values[name].strip()
            if text and not Path(text).expanduser().is_file():
                raise InputError(f"There is no file {text}. Check the spelling of the path.")
        lat, lon, side_m = declared(values["center"], values["side_km"])
        full = {
            name: str(Path(values[name].strip()).expanduser().absolute())
            for name in ("public", "districts")
            if values[name].strip()
        }
        names = ("budget", "label", "bound_epsilon", "ledger")
        rest = {name: values[name].strip() or None for name in names}
        _, most = cls.people(values, alone=alone)
        read = {name: values[name].strip() for name in ("lat", "lon", "user", "time", "tz")}
        kind = values["kind"].strip() or "user"
        if read["tz"] and not read["time"]:
            raise InputError("A zone is for a column of times: name the column under Times.")
        if kind != "user" and not (read["user"] and read["time"]):
            raise InputError(
                f"To hide a {kind}, name the columns of people and of times; or leave Hides empty."
            )
        if most is not None:
            PrivacyUnit(kind, most)  # raises if there is no such unit
        if rest["bound_epsilon"] is not None:
            if most is None:
                raise InputError("Only a number of records of each person can be bought.")
            NoisyQuantile(KEPT, rest["bound_epsilon"], most)  # raises if it is no epsilon
        return cls(
            lat=lat, lon=lon, side_m=side_m, max_per_user=most, kind=kind,
            columns=tuple((name, text) for name, text in read.items() if text),
            path=cls.found(values), title=values["title"].strip(), **full, **rest,  # pyright: ignore
        )  # fmt: skip

    @staticmethod
    def found(values: dict[str, str]) -> str:
        """Return the path that a person typed; InputError if no file is there."""
        path = values["path"].strip().strip("'\"")
        if not path:
            raise InputError("Give the path of a file on this machine, such as trips.csv.")
        if not Path(path).expanduser().is_file():
            raise InputError(f"There is no file {path}. Check the spelling of the path.")
        return str(Path(path).expanduser().absolute())

    @classmethod
    def people_of(cls, values: dict[str, str]) -> str | None:
        """Return the column that looks like people, or None; InputError without positions."""
        columns = {name: values[name].strip() or None for name in ("lat", "lon")}
        return people_column(cls.found(values), **columns)

    @classmethod
    def people(cls, values: dict[str, str], *, alone: bool) -> tuple[str, int | None]:
        """Return the column of people and the records kept of each; empty and None if none."""
        user, most = values["user"].strip(), whole_number("Records of each", values["most"])
        if bool(user) != (most is not None):
            raise InputError(
                "Give both the column of people and the number of records to keep of each, or "
                "neither."
            )
        found = None if user or alone else cls.people_of(values)
        if found is not None:
            raise InputError(
                f"The column {found!r} looks like people, who may appear more than once: name "
                "it under People, with the records to keep of each. Or tick that each record is of "
                "another person. Nothing was read."
            )
        return user, most

    @property
    def name(self) -> str:
        """The name of the file."""
        return Path(self.path).name

    @property
    def account(self) -> Path:
        """The path of the ledger."""
        return ledger_of(self.path, self.ledger).path

    @property
    def region(self) -> Region:
        """The declared region."""
        return Region.around(lat=self.lat, lon=self.lon, side_m=self.side_m)

    @property
    def unit(self) -> PrivacyUnit:
        """The unit of privacy."""
        return PrivacyUnit(self.kind if self.max_per_user else "record", self.max_per_user)

    @property
    def source(self) -> str:
        """Python code that defines the variables ``region``, ``records`` and ``public``."""
        return from_files(self.region, self.path, self.columns, self.public)

    @property
    def command(self) -> str:
        """The command that opens the file in the app, in lines to copy into a terminal."""
        given: dict[str, object] = {
            **dict(self.columns), "max-per-user": self.max_per_user,
            "unit": None if self.kind == "user" else self.kind, "public": self.public,
            "districts": self.districts, "label": self.label, "title": self.title or None,
            "ledger": self.ledger, "budget": None if self.account.exists() else self.budget or 1,
        }  # fmt: skip
        words = ["snhkit explore --app", f"--data {shlex.quote(self.path)}"]
        between = "=" if self.lat < 0 else " "  # a minus sign would begin an option
        words += [
            f"--center{between}{self.lat!r},{self.lon!r}",
            f"--side-km {self.side_m / 1000:g}",
        ]
        words += [f"--{k} {shlex.quote(str(v))}" for k, v in given.items() if v is not None]
        words += ["--n-public"] if self.n_public else []
        lines = [words[0]]
        for word in words[1:]:
            lines[-1:] = (
                [f"{lines[-1]} {word}"]
                if len(lines[-1]) + len(word) < _COLUMNS
                else [lines[-1] + " \\", f"    {word}"]
            )
        return "\n".join(lines)

    def dataset(self, **report: Callable[[Any], object]) -> PrivateDataset:
        """Return the records with their ledger, created if missing and ``budget`` is given.

        ``report``, an argument of ``read_points``, receives the rows left out instead of a warning.
        """
        if self.budget is None and not self.account.exists():
            raise InputError(
                f"The ledger {self.account} does not exist yet: give a budget, the total epsilon "
                "that may ever be spent on these records."
            )
        budget: Fraction | None = None if self.budget is None else exact(self.budget)
        most: int | NoisyQuantile | None = self.unit.max_per_user
        if self.bound_epsilon is not None and most is not None:
            most = NoisyQuantile(KEPT, self.bound_epsilon, most)
        terms: dict[str, Any] = {
            "unit": self.unit.kind, "max_per_user": most,
            "n_public": self.n_public, "ledger": ledger_of(self.path, self.ledger),
        }  # fmt: skip
        read: dict[str, Any] = dict(self.columns) | report
        if is_large(self.path):
            return PrivateDataset.scan(self.path, self.region, budget, **terms, **read)
        return PrivateDataset(read_points(self.path, self.region, **read), budget, **terms)

    def session(self, **report: Callable[[Any], object]) -> Session:
        """Return a session of the records with the releases that earlier sessions saved."""
        districts = None
        if self.districts is not None:
            districts = Districts.of(self.districts, self.label).inside(self.region)
            if not districts.area_m2.any():
                raise InputError(
                    f"{self.districts}: no district lies in the region; name another file, or "
                    "leave the districts out."
                )
        public = None if self.public is None else read_points(self.public, self.region)
        dataset = self.dataset(**report)
        folder = ReleaseFolder(self.account.with_name(re.sub(r"\.ledger$", "", self.account.name)))
        session = Session(
            self.title or UNTITLED,
            "The counts are released counts, never true counts.",
            dataset,
            public,
            districts=districts,
            source=self.source,
            folder=folder,
            whereabouts=f"Records {self.path}; ledger {self.account}; releases in {folder.path}.",
        )
        for release in folder.releases(dataset.region):
            session.keep(session.shown(release, title_of(release)), stored=True)
        return session


def whole_number(what: str, text: str) -> int | None:
    """Return a number that a person typed; None if the text is empty."""
    if not text.strip():
        return None
    try:
        return typed_whole(text)
    except InputError as refusal:
        raise InputError(f"{what}: {refusal}") from None


@lru_cache(maxsize=1)
def _covering(border: Path, changed: int) -> Region:
    """Return the square around the polygons of a file, which is read again after it ``changed``."""
    return Region.covering(Districts.of(border).rows)


def declared(center: str, side_km: str) -> tuple[float, float, float]:
    """Return latitude, longitude and side in metres of a square that a person typed.

    Instead of a centre and a side, a file may be named: the square then holds its public polygons.
    """
    border = Path(center.strip()).expanduser()
    if border.is_file():
        region = _covering(border, border.stat().st_mtime_ns)
        return region.lat, region.lon, region.side_m
    try:
        lat, lon = typed_place(center)
    except ValueError:
        raise InputError(
            "Centre must be latitude and longitude in degrees, such as 37.7637, -122.4337, or a "
            f"file with a public border, not {center!r}."
        ) from None
    try:
        side_m = round(1000 * typed_number(side_km), 3)
    except ValueError:
        raise InputError(
            f"Side must be a number of kilometres, such as 13.2, not {side_km!r}."
        ) from None
    Region.around(lat=lat, lon=lon, side_m=side_m)
    return lat, lon, side_m
