"""The lines of the card that describes a release."""

from typing import TYPE_CHECKING

from snhkit.privacy import written

if TYPE_CHECKING:
    from snhkit.release.release import Release

__all__ = ["card_lines"]

_LARGE_EPSILON = 10


def card_lines(release: "Release") -> dict[str, str]:
    """Return the lines of a release's card: one text for each heading (see ``Release.card``)."""
    region = release.region
    denoised = release.method == "SNH" and release.hyperparameters.get("prior")
    lines = {
        "Method": release.method + (", trained on a denoised grid" if denoised else ""),
        "Privacy": release.unit.promise(release.epsilon, release.delta, release.rho),
        "Paid for": "; ".join(map(str, release.spends)),
        "Region": f"{region.side_m:,.0f} m square around {region.lat:.5f}, {region.lon:.5f}",
        "Settings": ", ".join(f"{k} = {v}" for k, v in release.hyperparameters.items()),
    } | getattr(release.model, "remarks", dict)()
    if release.epsilon > _LARGE_EPSILON:
        lines["Caution"] = (
            f"epsilon = {written(release.epsilon)} protects almost nothing: a result may be "
            f"e^{written(release.epsilon)} times as probable with a person's record as without "
            "it. Usual values are 0.1 to 1."
        )
    # The warning belongs to the kind of model, so a file cannot leave it out.
    warnings = [getattr(release.model, "warning", "")]
    if release.replayable:
        warnings.append("replayable: the noise came from a seed. For research, not to publish.")
    if any(warnings):
        lines["Warning"] = " ".join(filter(None, warnings))
    # Text from a file must not control the reader's terminal.
    return {
        name: "".join(c if c.isprintable() else "\ufffd" for c in text)
        for name, text in lines.items()
    }
