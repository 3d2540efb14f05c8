"""Records that a command counts without reading all into memory, possibly on a Dask cluster."""

import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from snhkit.cli.output import say
from snhkit.cli.records import (
    declared_region,
    named_as_options,
    read,
    read_file,
    tell,
    together,
)
from snhkit.cli.types import Whole

if TYPE_CHECKING:
    from distributed import Client

    from snhkit.dataset import PrivateDataset
    from snhkit.geometry import Points

_TIMEOUT_S = 10  # seconds to wait for a scheduler's answer
_NAMES = ("time", "tz", "since", "until", "spill", "scheduler", "workers")


tz_option = click.option(
    "--tz",
    metavar="ZONE",
    help="Time zone of hours and days, and of times without one, such as Europe/Brussels.",
)


scan_options = together(
    click.option(
        "--time",
        metavar="COLUMN",
        help="Column of times; needed for --since, --until and units such as user-day.",
    ),
    tz_option,
    click.option(
        "--since", metavar="TIME", help="Use only rows from this time on, such as 2026-11-01."
    ),
    click.option("--until", metavar="TIME", help="Use only rows before this time."),
    click.option(
        "--spill",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        help="With --user or --by: folder for temporary copies of the records that are kept.",
    ),
    click.option(
        "--workers",
        type=Whole(1, 1024),
        metavar="N",
        help="Count the records in N processes of a Dask cluster on this machine.",
    ),
    click.option(
        "--scheduler",
        metavar="ADDRESS",
        help="Count the records on the Dask cluster of this scheduler.",
    ),
)


@contextmanager
def opened(
    data: Path,
    user: str | None,
    terms: dict[str, Any],
    options: dict[str, Any],
    scanned: bool = False,
) -> "Iterator[tuple[PrivateDataset, Points | None]]":
    """Yield dataset and public points; folders and large files are counted as they are read."""
    from snhkit.data.sources.files import is_large
    from snhkit.dataset import PrivateDataset

    scan = {name: options[name] for name in _NAMES}
    where = {name: value for name, value in options.items() if name not in _NAMES}
    if scan["workers"] is not None and scan["scheduler"] is not None:
        raise click.UsageError(
            "give either --workers, which starts a cluster, or --scheduler, which joins one."
        )
    if not (scanned or any(scan.values()) or is_large(data)):
        records, public = read(data, user=user, **where)
        yield PrivateDataset(records, **terms), public
        return
    region = declared_region(where["center"], where["side_km"])
    columns = {"lat": where["lat"], "lon": where["lon"], "user": user}
    public = None if where["public"] is None else read_file(where["public"], region)
    with _cluster(scan.pop("scheduler"), scan.pop("workers")) as client:
        with named_as_options():
            dataset = PrivateDataset.scan(
                data, region, **terms, **columns, **scan, report=tell, client=client
            )
        yield dataset, public


@contextmanager
def _cluster(scheduler: str | None, workers: int | None) -> "Iterator[Client | None]":
    """Yield a connection to the chosen Dask cluster, or None; print the dashboard's address."""
    if scheduler is None and workers is None:
        yield None
        return
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise click.UsageError('Dask is not installed: pip install "snhkit[dask]".') from None
    with ExitStack() as stack, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # such as that the dashboard's port is taken
        where: Any = scheduler
        if scheduler is None:
            where = stack.enter_context(
                LocalCluster(n_workers=workers, threads_per_worker=1, silence_logs=50)
            )
        try:
            client = stack.enter_context(Client(where, timeout=_TIMEOUT_S))
        except (OSError, TimeoutError, ValueError) as failure:
            reason = str(failure).partition("\n")[0][:160]
            raise click.UsageError(
                f"No Dask scheduler answers at {scheduler} ({reason}). Nothing was spent."
            ) from None
        found: Any = client.ncores()
        say(f"Dask: {len(found)} workers; dashboard {client.dashboard_link}", err=True)
        yield client
