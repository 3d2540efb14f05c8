"""The command that prints the errors to expect before epsilon is spent."""

import click

from snhkit.cli.output import say
from snhkit.cli.records import declared_region, read_file, region_options, sizes_option
from snhkit.cli.types import Epsilons, Positive, Whole
from snhkit.defaults import DEFAULT_EPSILON


@click.command()
@click.option(
    "--n",
    type=Whole(1),
    required=True,
    metavar="N",
    help="The approximate number of records.",
)
@click.option(
    "--epsilon",
    type=Epsilons(),
    default=str(DEFAULT_EPSILON),
    show_default=True,
    help="Epsilon of a release, one value or several.",
)
@click.option(
    "--methods",
    metavar="A[,B...]",
    default="all",
    show_default=True,
    help="Short names of methods, or the word all for every method in the table of errors.",
)
@sizes_option("squares")
@click.option(
    "--error",
    type=Positive(),
    metavar="E",
    help="A mean relative error, such as 0.1: print the epsilon that gives this error.",
)
@region_options
@click.option(
    "--unit",
    default="record",
    show_default=True,
    help="The unit of privacy, as in snhkit release: record, user, user-day, ...",
)
@click.option(
    "--max-per-user",
    type=Whole(1),
    metavar="K",
    help="For all units but record: the records that are kept of each person.",
)
@click.option(
    "--by",
    metavar="STRATA",
    help="Strata, as in snhkit release: hour, hour:6, weekday, vehicle=bike,scooter, ...",
)
def plan(
    n, epsilon, methods, sizes_m, error, public, center, side_km, unit, max_per_user, by
) -> None:
    """Print the errors to expect and a recommended method, or the epsilon for a wanted error.

    This command reads no private records and spends nothing: the numbers come from a table of
    errors that were measured on public cities. The columns are the mean relative error of squares
    around records, the range that holds this error in 8 of 10 places, and the mean absolute error,
    in records, of squares anywhere in the region. Points of --public that are about as clustered as
    the records narrow the range. With --by, these are errors in one stratum, such as an hour, and
    the last lines say what the division costs.

    \b
    Examples:
      snhkit plan --n 200000
      snhkit plan --n 50000 --epsilon 0.1,0.4 --sizes-m 300,1000
      snhkit plan --n 200000 --methods ug,denoised --error 0.1
      snhkit plan --n 200000 --unit user --max-per-user 5
      snhkit plan --n 200000 --by hour
    """
    if (center is None) != (side_km is None) or (public is not None and center is None):
        raise click.UsageError("--center and --side-km must be given together, and with --public.")
    from snhkit.errors import InputError
    from snhkit.geometry import By
    from snhkit.methods import title
    from snhkit.planning import epsilon_for, expected_error, plan_table, recommend

    region = None if center is None else declared_region(center, side_km)
    points = None if public is None or region is None else read_file(public, region)
    given = {
        "n": n,
        "sizes_m": sizes_m,
        "public": points,
        "region": region,
        "unit": unit,
        "max_per_user": max_per_user,
        "by": None if by is None else By.parse(by),
    }
    measured = plan_table()
    chosen = list(measured["fits"]) if methods == "all" else methods.split(",")
    squares = f"squares of {sizes_m[0]:g} to {sizes_m[1]:g} m"
    if max_per_user is not None:
        squares += f", at most {max_per_user:,} records of a {unit}"
    if by is not None:
        squares += f", in each stratum by {by}"
    if error is not None:
        say(f"Epsilon for a mean relative error of {error:g}: {n:,} records, {squares}.\n")
        for name in chosen:
            try:
                say(f"{title(name):24} {epsilon_for(name, error, **given):g}")
            except InputError as refusal:
                if methods != "all":
                    raise
                say(f"{title(name):24} {'not measured' if 'not mea' in str(refusal) else 'none'}")
    else:
        for price in epsilon:
            say(f"Epsilon {price}, {n:,} records, {squares}:\n")
            say("                    relative error         range in     absolute error")
            say("                    around records   8 of 10 places anywhere (records)")
            for name in chosen:
                try:
                    row = expected_error(name, epsilon=price, **given).iloc[0]
                except InputError as refusal:
                    if methods != "all" or "not measured" not in str(refusal):
                        raise
                    continue
                cities = f"{row.rel_error_low:.3f} to {row.rel_error_high:.3f}"
                say(
                    f"{title(name):24}{row.rel_error:10.3f}{cities:>17}"
                    f"{row.abs_error_anywhere:19.3g}"
                )
            say(f"\n{recommend(epsilon=price, **given).reason}\n")
    told = measured["provenance"]
    say(
        f"Measured on {told['places']} public data sets, {told['date']}. An estimate, not a "
        "promise; nothing was spent."
    )
