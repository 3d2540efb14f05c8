"""The questions of ``snhkit release --ask``, one after another, and the command they lead to."""

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from snhkit.cli.output import say
from snhkit.errors import InputError, printable
from snhkit.questions import OTHERS, QUESTIONS

if TYPE_CHECKING:
    from snhkit.geometry import Region

_ROWS = 3  # of the file, which the owner sees
_NOBODY = "nobody"
_ESTIMATES = "estimated from public data"


def ask(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    """Ask for what a release needs, show the command that makes it, and run it if wanted."""
    if not wanted or context.resilient_parsing:
        return
    (data, at), region = _file(), _where()
    people, terms = _people(data, at)
    terms["region"] = region
    place = [f"--center={region.lat!r},{region.lon!r}", "--side-km", f"{region.side_m / 1000:g}"]
    columns = [word for role, name in at.items() for word in (f"--{role}", name)]
    words = ["--data", str(data), *columns, *place, *people, *_price(data, terms), *_what(terms)]
    words += ["--out", _until("File to write", str, default=f"{data.stem}.snh")]
    title = _until(
        "Title of a page for readers, such as what, where and when; none", str, default=""
    )
    if title:
        words += ["--page", f"{data.stem}.html", "--title", title]
    say("\nThis command does the same:\n")
    click.echo(f"snhkit release {printable(shlex.join(words))}\n")
    if click.confirm("Run it now, and spend the epsilon?"):
        context.command.main(words, prog_name="snhkit release", standalone_mode=False)
    context.exit()


def _say(question: str) -> None:
    say("\n{}\n{}".format(*QUESTIONS[question]))


def _until(text: str, read: Callable[[str], Any], **options: Any) -> Any:
    """Ask until ``read`` takes the answer; return what it returns."""
    if shown := printable(str(options.get("default", ""))):  # perhaps a name in a file
        text = f"{text} [{shown}]"
    while True:
        try:
            return read(str(click.prompt(text, show_default=False, **options)).strip())
        except (InputError, ValueError) as refusal:
            say(f"{refusal}")


def _file() -> tuple[Path, dict[str, Any]]:
    """Ask for the file of records and, if need be, columns of positions; show its first rows."""
    from snhkit.data.sources.columns import rules_of
    from snhkit.data.sources.opening import open_source

    _say("file")

    def read(path: str, **at: Any) -> tuple[Path, dict[str, Any]]:
        try:
            part = open_source(path, rules_of(**at)).parts[0]
        except InputError as refusal:
            if at or "Say which it is" not in str(refusal):
                raise
            say(f"{refusal}")
            return read(path, lat=_name("Column of latitudes"), lon=_name("Column of longitudes"))
        say(f"Columns: {', '.join(part.layout.names)}. First positions:")
        rows = next(iter(next(iter(part.blocks()))()))
        for lat, lon in zip(rows.lat[:_ROWS], rows.lon[:_ROWS], strict=True):
            say(f"  {lat:.5f}, {lon:.5f}")
        return Path(path), at

    return _until("File of records", read)


def _where() -> "Region":
    """Ask for the public square."""
    from snhkit.checks import typed_number
    from snhkit.districts.districts import Districts
    from snhkit.geometry import Region

    _say("place")
    found = _until("Latitude and longitude of its centre, or a file with a public border", _centre)
    if isinstance(found, str):
        return Region.covering(Districts.of(found).rows)
    return _until(
        "Its side in kilometres",
        lambda text: Region.around(*found, side_m=1000 * typed_number(text)),
    )


def _centre(text: str) -> "str | tuple[float, float]":
    from snhkit.checks import typed_place

    return text if Path(text).is_file() else typed_place(text)


def _name(text: str) -> str:
    return str(click.prompt(text)).strip()


def _people(data: Path, at: dict[str, Any]) -> tuple[list[str], dict[str, Any]]:
    """Ask who may appear more than once; return options, and the terms for expected errors."""
    from snhkit.checks import typed_whole
    from snhkit.data.sources.columns import rules_of
    from snhkit.data.sources.opening import open_source, people_column
    from snhkit.privacy import PrivacyUnit

    _say("people")
    columns = open_source(data, rules_of(**at)).parts[0].layout.names

    def column(name: str) -> str:
        if name != _NOBODY and name not in columns:
            raise InputError(f"There is no column {name!r}; the columns are {', '.join(columns)}.")
        return name

    name = _until(
        "Column of people, or nobody", column, default=people_column(data, **at) or _NOBODY
    )
    if name == _NOBODY:
        return ["--unit", "record"], {}
    _say("most")
    most = _until("Records of each person, at most", typed_whole, default="5")
    price = _until("Epsilon that buys a smaller number; none", _price_or_none, default="")
    people = ["--user", name, "--max-per-user", str(most)]
    if price:
        people += ["--bound-epsilon", price]
    else:
        say(PrivacyUnit("user", most).counting)
    return people, {"unit": "user", "max_per_user": most}


def _price_or_none(text: str) -> str:
    from snhkit.privacy import exact

    if text:
        exact(text)
    return text


def _price(data: Path, terms: dict[str, Any]) -> list[str]:
    """Ask for the budget and for epsilon, beside the errors to expect."""
    from snhkit.checks import typed_whole
    from snhkit.metrics import SIZE_BANDS_M, band_name
    from snhkit.planning.recommend import prospects
    from snhkit.privacy import exact
    from snhkit.privacy.data_ledgers import ledger_of

    _say("price")
    say("".join(OTHERS))
    terms["n"] = _until("About how many records count, as is publicly known", typed_whole)
    say(f"\nExpected relative errors of squares, by the best method for each, {_ESTIMATES}:")
    say(f"{'epsilon':>9}" + "".join(f"{band_name(band):>14}" for band in SIZE_BANDS_M))
    for epsilon, errors in prospects(**terms):
        say(f"{epsilon:>9}" + "".join(f"{error:>14}" for error in errors))
    budget = []
    if not ledger_of(data).path.exists():
        budget = ["--budget", _until("Budget", lambda text: str(exact(text) and text), default="1")]
    terms["epsilon"] = _until("Epsilon of this release", lambda text: exact(text) and text)
    return [*budget, "--epsilon", terms["epsilon"]]


def _what(terms: dict[str, Any]) -> list[str]:
    """Ask what to publish, and propose a method."""
    from snhkit.checks import typed_number
    from snhkit.districts.districts import Districts
    from snhkit.planning import recommend

    _say("publish")
    if click.prompt("Publish", type=click.Choice(["boxes", "districts"])) == "districts":

        def polygons(text: str) -> str:
            rows = Districts.of(text).rows
            say(f"Columns: {', '.join(map(str, rows.drop(columns=rows.geometry.name))) or 'none'}")
            return text

        def label(text: str) -> str:
            Districts.of(path, text or None).refuse_repeated()
            return text

        path = _until("File of polygons", polygons)
        names = _until("Column of their names; none", label, default="")
        return ["--districts", path, *(["--label", names] if names else [])]

    def sides(text: str) -> str:
        low, high = map(typed_number, text.split(","))
        proposal.append(recommend(sizes_m=(low, high), **terms))
        return text

    proposal: list[Any] = []
    sizes = _until("Smallest and largest side of boxes, in metres", sides, default="25,100")
    say(f"Proposed: {proposal[-1].reason}")
    found = click.prompt("Method", default=proposal[-1].method)
    return ["--method", found, "--sizes-m", sizes]
