"""The command that spends epsilon and writes a release."""

import json

import click

from snhkit.cli.ask import ask
from snhkit.cli.output import STANDARD_OUTPUT, say, write
from snhkit.cli.records import (
    account_options,
    districts_options,
    opened,
    people_options,
    records_options,
    refuse_new_account,
    refuse_same_file,
    refuse_unasked_people,
    scan_options,
    sizes_option,
    tessellation,
)
from snhkit.cli.types import INPUT_FILE, Delta, Epsilons, Methods, OutputFile
from snhkit.errors import InputError, SnhkitError


@click.command()
@records_options
@click.option(
    "--method", type=Methods(), metavar="M", help="Short name of the method, such as ug or snh."
)
@districts_options
@click.option(
    "--epsilon", type=Epsilons(), metavar="E", required=True, help="Epsilon of the release."
)
@click.option(
    "--delta",
    type=Delta(),
    help="Use Gaussian noise: the release is (epsilon, delta)-differentially private. The budget "
    "must have a delta, from --budget-delta.",
)
@sizes_option("boxes that the release is optimised for")
@people_options
@click.option(
    "--bound-epsilon",
    type=Epsilons(),
    metavar="E",
    help="With --user: spend this epsilon as well on the number of records that are kept of each "
    "user, for 95 % of users; --max-per-user is then the largest that can be chosen.",
)
@click.option(
    "--whose",
    default="person",
    show_default=True,
    metavar="WORD",
    help="Word in descriptions for what an id of --user stands for, such as household.",
)
@click.option(
    "--by",
    metavar="STRATA",
    help="Make a map for each stratum, all together for one epsilon: hour, hour:3, weekday, "
    "weekday_hour:6, which need --time, or a column with its values, as in vehicle=bike,scooter.",
)
@scan_options
@account_options
@click.option(
    "--budget-delta",
    type=Delta(),
    help="With --budget: the delta of all releases together, needed for Gaussian noise.",
)
@click.option(
    "--out", type=OutputFile(), required=True, help="The file to publish; - is standard output."
)
@click.option(
    "--page",
    type=OutputFile(),
    help="Also write an HTML page that may be published: map, counts of districts, card.",
)
@click.option("--title", help="Title of --page, such as what was counted, where and when.")
@click.option("--subject", default="", help="With --page: what one record is, such as a trip.")
@click.option("--owner", default="", help="With --page: who publishes the page.")
@click.option("--period", default="", help="With --page: when the records were collected.")
@click.option("--contact", default="", help="With --page: whom readers may ask.")
@click.option(
    "--page-districts",
    type=INPUT_FILE,
    help="With --page: file of polygons whose counts the page lists, by the names of --label "
    "[default: --districts].",
)
@click.option(
    "--ask",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=ask,
    help="Ask questions instead, show the command that they lead to, and run it if wanted.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the card as JSON.")
@click.option(
    "--force",
    is_flag=True,
    help="Replace existing files of --out and --page; --out may be an earlier release.",
)
def release(
    data, method, districts, label, epsilon, delta, sizes_m, n_public, user, max_per_user,
    bound_epsilon, unit, whose, cell_m, budget, budget_delta, ledger, out, page, title, subject,
    owner, period, contact, page_districts, as_json, force, by,
    **where,
) -> None:  # fmt: skip
    """Make a release of private records, and write it to a file that may be published.

    Each release of the same records adds its epsilon to what was spent before. The ledger, a file
    beside the records, keeps the total, and releases that would exceed the budget are refused.
    Standard output is the card of the release, its description, which may be published. Standard
    error is for the owner of the records only.

    \b
    Example:
      snhkit release --data trips.csv --center 37.76,-122.43 --side-km 13 \\
          --method identity --epsilon 0.5 --budget 1 --out trips.snh
    """
    if (method is None) == (districts is None):
        raise click.UsageError("give either --method M or --districts FILE.")
    for values, option in ((method, "--method"), (epsilon, "--epsilon"), (budget, "--budget"),
                           (bound_epsilon, "--bound-epsilon")):  # fmt: skip
        if values is not None and len(values) != 1:
            raise click.UsageError(f"{option} takes one value here, not {len(values)}.")
    if data is None:
        raise click.UsageError("Missing option '--data'.")
    if (user is None) != (max_per_user is None):
        raise click.UsageError("--user and --max-per-user must be given together.")
    if bound_epsilon is not None and user is None:
        raise click.UsageError("--bound-epsilon needs --user COLUMN and --max-per-user N.")
    if unit is not None and user is None and unit != "record":
        raise click.UsageError(f"--unit {unit} needs --user COLUMN and --max-per-user N.")
    if ledger == STANDARD_OUTPUT:
        raise click.UsageError(
            "--ledger cannot be standard output, because later commands read the "
            "ledger; give the name of a file."
        )
    from snhkit.privacy.data_ledgers import ledger_of

    account = ledger_of(data, ledger)
    ledger = account.path
    refuse_same_file(data=data, public=where["public"], districts=districts, out=out, ledger=ledger,
                     page=page)  # fmt: skip
    from snhkit.geometry.strata import By
    from snhkit.methods import METHODS
    from snhkit.privacy import Budget, NoisyQuantile
    from snhkit.privacy.quantile import KEPT

    key = "" if method is None else method[0]
    if key and METHODS[key].demonstration:
        raise click.UsageError(
            f"{key} is a demonstration and must not be published, because its noise is drawn in "
            "floating point; use it in snhkit compare. Nothing was spent."
        )
    refuse_new_account(ledger, budget)
    if page_districts is not None and page is None:
        raise click.UsageError("--page-districts needs --page.")
    texts = {"subject": subject, "owner": owner, "period": period, "contact": contact}
    for option, text in {"title": title, **texts}.items():
        if text and page is None:
            raise click.UsageError(f"--{option} needs --page.")
    if page is not None and not (title or "").strip():
        raise click.UsageError(
            "--page needs --title TEXT, such as what was counted, where and when; the name of "
            "the file is never published. Nothing was spent."
        )
    if page is not None and page.is_file() and not force:
        raise click.UsageError(f"{str(page)!r} exists; --force replaces it. Nothing was spent.")
    if out.is_file() and not force:
        raise click.UsageError(f"{str(out)!r} exists; --force replaces it. Nothing was spent.")
    named = label if districts is not None or page_districts is None else None
    builder = tessellation(districts, named) or METHODS[key].builder(sizes_m, cell_m)
    strata = None if by is None else By.parse(by)
    if strata is not None and strata.times and where["time"] is None:
        raise click.UsageError(f"--by {by} needs --time COLUMN.")
    if budget_delta is not None and budget is None:
        raise click.UsageError("--budget-delta needs --budget.")
    most = max_per_user if bound_epsilon is None else NoisyQuantile(
        KEPT, bound_epsilon[0], max_per_user)  # fmt: skip
    terms = {
        "budget": None if budget is None else Budget(budget[0], budget_delta or 0),
        "unit": unit or ("record" if user is None else "user"),
        "whose": whose,
        "max_per_user": most,
        "n_public": n_public,
        "ledger": account,
    }
    refuse_unasked_people(data, user, unit, lat=where["lat"], lon=where["lon"])
    with opened(data, user, terms, where, scanned=strata is not None) as (dataset, public):
        listed, texts = page_districts or districts, {"title": title or "", **texts}
        html = None
        if page is not None:  # before epsilon is spent
            from snhkit.viz.reports.public_page import Imprint, page_writer

            html = page_writer(dataset.region, listed, label, Imprint(**texts))
        made = dataset.release(
            builder, epsilon=epsilon[0], delta=delta or 0, public=public, by=strata
        )
    content, files = made.to_bytes(), []
    try:
        write(out, content)
        files.append(out)
        if page is not None and html is not None:
            write(page, html(made))
            files.append(page)
    except SnhkitError as error:
        kept = f"{' and '.join(map(str, files))} was written" if files else "the release is lost"
        raise InputError(
            f"{error} The epsilon of the release is spent, and {kept}. Ledger {ledger}: "
            f"{dataset.ledger.summary}"
        ) from None
    if out != STANDARD_OUTPUT:
        if as_json:
            write(STANDARD_OUTPUT, json.dumps(made.card(), indent=1) + "\n")
        else:
            say(str(made))
    say(f"Written to {' and '.join(map(str, files))}", err=True)
    say(f"Ledger {ledger}: {dataset.ledger.summary}", err=True)
    if dataset.bought is not None:
        bound = dataset.unit.max_per_user
        say(f"Bought: at most {bound:,} records of each. Later, --max-per-user {bound} without "
            "--bound-epsilon costs nothing.", err=True)  # fmt: skip
    if dataset.unit.counting:
        say(dataset.unit.counting, err=True)
