"""The command that estimates the counts of boxes and polygons from a release."""

import warnings

import click

from snhkit.cli.output import STANDARD_OUTPUT, say, write
from snhkit.cli.records import refuse_same_file
from snhkit.cli.types import INPUT_FILE, OutputFile, Positive
from snhkit.errors import InputError, OutsideWarning


@click.command()
@click.argument("file", type=INPUT_FILE)
@click.option(
    "--boxes",
    type=INPUT_FILE,
    help="CSV with columns south,west,north,east in degrees, or polygons: .geojson, .gpkg or "
    ".parquet.",
)
@click.option(
    "--out", type=OutputFile(), help="File to write [default: -, which is standard output]."
)
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Write JSON: a list with one object for each row of --boxes.",
)
@click.option(
    "--raster",
    type=OutputFile(),
    help="GeoTIFF to write with the counts of all cells of the region; needs the extra raster.",
)
@click.option("--cell-m", type=Positive(), help="With --raster: width of the cells in metres.")
def answer(file, boxes, out, as_json, raster, cell_m) -> None:
    """Estimate the counts of boxes or polygons from a release, at no cost in privacy.

    The output has the rows of --boxes with five more columns: count, the estimate; noise_sd,
    the standard deviation of the noise alone; low and high, between which the true count lies in
    about 90 % of cases (exact for districts that were counted one by one, elsewhere estimated from
    errors on public cities); and area_m2, the area inside the region. Unknown values are left
    empty. A release made with --by has a row for each row of --boxes and each stratum, such as an
    hour, which one more column names. In a CSV file of boxes, columns may be separated by a comma,
    a semicolon, a | or a tab.

    \b
    Example:
      snhkit answer trips.snh --boxes boxes.csv --out counts.csv
      snhkit answer trips.snh --raster counts.tif --cell-m 100
    """
    refuse_same_file(file=file, boxes=boxes, out=out, raster=raster)
    if boxes is None and raster is None:
        raise click.UsageError("Give --boxes, --raster or both.")
    if cell_m is not None and raster is None:
        raise click.UsageError("--cell-m needs --raster.")
    import numpy as np

    from snhkit.districts.boxes import estimates_text, read_boxes
    from snhkit.loading import load
    from snhkit.release.estimates import ADDED, Estimates
    from snhkit.release.strata import StratifiedRelease, by_stratum

    made = load(file)
    if raster is not None:
        from snhkit.files import write_whole

        layers = made.total().to_xarray(cell_m)
        try:
            import rioxarray  # noqa: F401 - adds .rio
            from rasterio.io import MemoryFile
        except ImportError:
            raise click.ClickException("--raster needs: pip install 'snhkit[raster]'") from None
        with MemoryFile() as memory:
            layers["count"].rio.to_raster(memory.name, driver="GTiff")
            write_whole(raster, memory.read())
    if boxes is None:
        return
    with warnings.catch_warnings(record=True) as outside:
        warnings.simplefilter("always", OutsideWarning)
        try:
            found = Estimates.of(made.total(), read_boxes(boxes))
            if isinstance(made, StratifiedRelease):
                frame = by_stratum(found, made.by)
            else:
                frame = found.frame()
        except InputError as error:
            told = str(error)
            raise InputError(told if boxes.name in told else f"{boxes}: {told}") from None
    kind = boxes.suffix if out is None or not out.suffix else out.suffix
    for warning in outside:
        say(f"{boxes}: {warning.message}", err=True)
    if as_json:
        rows = frame[list(ADDED)].round(3) + 0.0
        if isinstance(made, StratifiedRelease):
            rows.insert(0, made.by.name, frame[made.by.name])
        rows.insert(0, "row", np.arange(len(frame)) % max(len(found), 1) + 1)
        text = f"{rows.to_json(orient='records', indent=1)}\n"
    else:
        text = estimates_text(frame, kind.lower())
    if "not known" in frame.attrs["intervals"]:
        say(frame.attrs["intervals"], err=True)
    if past := int(found.beyond.sum()):
        say(
            f"{past:,} of {len(found):,} boxes or polygons reach outside the region; the part "
            "outside counts as 0.",
            err=True,
        )
    write(STANDARD_OUTPUT if out is None else out, text)
