"""The card, a description of a release, in Markdown for people and in JSON for programs."""

import json
import re
from typing import Any

from snhkit.errors import printable
from snhkit.release.release import Release

__all__ = ["card_json", "card_markdown"]


def card_json(release: Release) -> str:
    """Return the card, a description of a release, as the text of a JSON object.

    Parameters
    ----------
    release : Release
        The release.

    Returns
    -------
    str
        The description in the release's file (docs/file_format.md) without the settings of the
        model, and these further fields: ``delta``; ``rho``, the cost in zCDP, which is 0
        without Gaussian noise; ``neighbours``, the change of the records that the release hides;
        ``epsilon_of_neighbours``, the epsilon for this change; ``public``, the facts that the
        release does not hide; ``warning``, null if there is none; and ``checksum``, the SHA-256 of
        the file.

    Examples
    --------
    >>> import snhkit as snh
    >>> data = snh.PrivateDataset(
    ...     snh.synthetic_points("fargo", 100), budget=1, unit="record"
    ... )
    >>> card = json.loads(card_json(data.release(snh.Identity(500), epsilon=0.5)))
    >>> card["epsilon"], card["neighbours"]
    ('1/2', 'one record added or removed')
    """
    facts = {k: v for k, v in release.description().items() if k != "settings"}
    more = {
        "delta": str(release.delta),
        "rho": str(release.rho),
        "neighbours": release.unit.sentence,
        "epsilon_of_neighbours": str(
            release.unit.neighbours_epsilon(release.epsilon, release.delta, release.rho)
        ),
        "public": _public(release),
        "warning": release.card().get("Warning"),
        "checksum": release.checksum,
    }
    return json.dumps(facts | more, indent=2, sort_keys=True) + "\n"


def card_markdown(release: Release) -> str:
    """Return the card, a description of a release, as a table in Markdown.

    Parameters
    ----------
    release : Release
        The release. Its texts are escaped, since they may come from an untrusted file.

    Returns
    -------
    str
        A heading and a table of two columns.

    Examples
    --------
    >>> import snhkit as snh
    >>> data = snh.PrivateDataset(
    ...     snh.synthetic_points("fargo", 100), budget=1, unit="record"
    ... )
    >>> print(card_markdown(data.release(snh.Identity(500), epsilon=0.5)))
    # Release
    <BLANKLINE>
    | | |
    |---|---|
    | Method | Identity |
    ...
    """
    rows = release.card() | {
        "Public": ", ".join(_public(release)),
        "Versions": ", ".join(f"{name} {number}" for name, number in release.versions.items()),
        "Checksum": release.checksum,
    }
    lines = [f"| {_escaped(name)} | {_escaped(text)} |" for name, text in rows.items()]
    return "\n".join(["# Release", "", "| | |", "|---|---|", *lines]) + "\n"


def _public(release: Release) -> list[str]:
    """Return the public facts, which the release does not hide."""
    n = [f"n, the number of records: {release.n:,}"] if release.unit.n_public else []
    return ["the region", "the method and its settings", "epsilon", *n]


def _escaped(text: Any) -> str:
    return re.sub(r"([\\`*_{}\[\]<>#|!&])", r"\\\1", printable(str(text)))
