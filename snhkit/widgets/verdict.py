"""What was built, and how wrong each release is: measured for invented records only."""

import html

from snhkit.experiment.evaluation import band_name
from snhkit.privacy import written
from snhkit.viz.figures.style import method_styles
from snhkit.widgets import teaching
from snhkit.widgets.session import Session

__all__ = ["built_line", "verdict"]

_UNKNOWN = (
    "How wrong the releases are is not known before part of the figures are measured on public "
    "cities. Errors on these records are never shown, because they would have to be paid for."
)


def built_line(session: Session) -> str:
    """Return HTML that says what was built, how long it took and what it cost.

    Parameters
    ----------
    session : Session
        The session on screen.
    """
    ledger = session.dataset.ledger
    if not session.built:
        return (
            '<p class="snhkit-soft">Nothing is built yet. Choose methods and epsilon, and press '
            f"Build: what may be spent is ε = {written(ledger.remaining)}.</p>"
        )
    built = list(session.built.values())
    took = [one.seconds for one in built if one.seconds is not None]
    each = ", ".join(
        f"{one.name}" + ("" if one.seconds is None else f" in {_seconds(one.seconds)}")
        for one in built
    )
    total = f" in {_seconds(sum(took))}" if took else ""
    said = "1 release" if len(built) == 1 else f"{len(built)} releases"
    return (
        f'<p role="status" class="snhkit-built" title="{html.escape(each)}"><b>{said}{total}</b>: '
        f"spent {written(ledger.spent)}, left {written(ledger.remaining)}. {html.escape(each)}.</p>"
    )


def verdict(session: Session, sizes_m: tuple[float, float], *, truth: bool) -> str:
    """Return HTML with a bar for the error of each release, and the errors by size beside it.

    Parameters
    ----------
    session : Session
        The session on screen.
    sizes_m : (float, float)
        Sizes of the boxes at hand, in metres.
    truth : bool
        Whether true counts may be shown; otherwise nothing is measured.
    """
    low, high = sizes_m
    if not session.built or not 0 < low <= high <= session.region.side_m:
        return ""
    if not truth:
        why = (
            "Switch teaching mode on to measure the errors of these invented records."
            if session.invented
            else _UNKNOWN
        )
        return f'<p class="snhkit-soft">{why}</p>'
    bands, found = teaching.measured(session, sizes_m)
    order = sorted(found, key=lambda name: found[name].relative[0])
    styles = method_styles(order)
    top = max(found[name].relative[0] for name in order) or 1.0
    rows = "".join(
        f'<tr><th scope="row">{html.escape(name)}</th><td class="snhkit-bar"><span '
        f'style="width:calc((100% - 52px) * {found[name].relative[0] / top:.3f});'
        f'background:{styles[name].colour}"></span><b>{_percent(found[name].relative[0])}</b></td>'
        + "".join(f"<td>{_percent(value)}</td>" for value in found[name].relative[1:])
        + f"<td>{found[name].anywhere:,.1f}</td><td>{found[name].adds_up:.3f}</td></tr>"
        for name in order
    )
    heads = "".join(f'<th scope="col">{band_name(band)}</th>' for band in bands[1:])
    return (
        '<table class="snhkit-verdict"><caption>Mean error of boxes around records, measured'
        '</caption><thead><tr><th scope="col">Release</th>'
        f'<th scope="col" class="snhkit-bar">{band_name(sizes_m)}</th>{heads}'
        '<th scope="col" title="Mean error in records of boxes of the first size anywhere">'
        'records, anywhere</th><th scope="col" title="Sum of all tiles of 100 m over the number '
        'of records; 1 is right">tiles / n</th></tr></thead>'
        f"<tbody>{rows}</tbody></table>"
    )


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %" if share < 0.995 else f"{100 * share:,.0f} %"


def _seconds(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
