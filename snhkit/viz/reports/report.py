"""An HTML page of a comparison of methods, which needs no network connection."""

from markupsafe import Markup

from snhkit.experiment import OWNER_ONLY
from snhkit.experiment.run import Comparison
from snhkit.methods import title as title_of
from snhkit.viz.figures.panels import method_panels
from snhkit.viz.figures.plots import error_bars
from snhkit.viz.reports.page import maps, page, paragraph, picture, section, wide
from snhkit.viz.reports.tables import errors_html, sizes_html

__all__ = ["report_html"]

_REPLAYABLE = (
    "The noise came from a seed: anyone who knows the seed can remove the noise. Do not publish "
    "the releases."
)
_MEASURE = (
    "Mean relative error of the queries; less is better. The relative error of a query is "
    "|released count - true count| / max(true count, 0.1 % of the records)."
)
_AROUND = (
    "Mean relative error of squares centred on records, by the length of their sides. Most such "
    "squares hold many records."
)
_ANYWHERE = (
    "Mean absolute error, in records, of squares of the same sizes placed uniformly in the region. "
    "Most such squares hold few records or none, so errors here show whether a method places "
    "records on empty land."
)
_ADDS_UP = (
    "The sum of the answers to all tiles of 100 m, divided by the number of records. The tiles "
    "cover the region without overlapping, so the right value is 1, up to noise. If the value of a "
    "method is far from 1, do not add up the method's answers to small boxes."
)
_NO_BAND = "Not measured: the region is smaller than the squares of every range of sizes."


def report_html(comparison: Comparison, *, title: str, about: str) -> str:
    """Return an HTML page of a comparison: tables, plots, a map and the ledger, for the owner."""
    shown = max(epsilon for _, epsilon in comparison.releases)
    releases = {
        title_of(name): release
        for (name, epsilon), release in comparison.releases.items()
        if epsilon == shown
    }
    notes = [OWNER_ONLY, *comparison.cautions]
    if any(release.replayable for release in releases.values()):
        notes.append(_REPLAYABLE)
    errors = comparison.table.assign(method=comparison.table["method"].map(title_of))
    sums = method_panels(errors, "adds_up", label="sum of tiles / n", right=1.0)
    parts = [
        section(
            "Errors, time and size",
            errors_html(comparison),
            picture(error_bars(errors), _MEASURE),
        ),
        *_by_size(comparison),
        section("Sums of all tiles", picture(sums, _ADDS_UP)),
        section(f"Released counts, at epsilon {shown:g}", maps(releases)),
        section(
            "What was spent",
            wide(Markup(comparison.dataset.ledger._repr_html_()), "ledger"),  # noqa: S704
        ),
    ]
    return page(title, about, notes, parts)


def _by_size(comparison: Comparison) -> list[Markup]:
    """Return the sections on errors by size band (range of sides): a table and two figures."""
    if comparison.sizes.empty:
        return [section("Errors by size of square", paragraph(_NO_BAND))]
    sizes = comparison.sizes.assign(method=comparison.sizes["method"].map(title_of))
    around = method_panels(sizes, "rel_error", label="mean relative error", panel="size")
    anywhere = method_panels(
        sizes, "abs_error_anywhere", label="mean error in records", panel="size"
    )
    return [
        section("Errors by size of square", sizes_html(comparison)),
        section("Errors around records", picture(around, _AROUND)),
        section("Errors anywhere", picture(anywhere, _ANYWHERE)),
    ]
