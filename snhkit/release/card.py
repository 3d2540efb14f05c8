"""The card, a description of a release, in Markdown for people and in JSON for programs."""

import json
import re
from typing import Any

from snhkit.errors import printable
from snhkit.release.release import Release


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


def card_registry(release: Release) -> str:
    """Return a draft of an entry for OpenDP's registry of deployments, as YAML, to be filled in.

    The fields are those of ``schemas/deployments-schema.yaml`` of opendp/deployments-registry-data,
    as of 2026-07-15; what a release does not know, such as who publishes it, is empty.
    """
    card, unit, gaussian = release.card(), release.unit, bool(release.rho)
    epsilon = unit.neighbours_epsilon(release.epsilon, release.delta, release.rho)
    parameters: dict[str, float | str] = {"epsilon": float(epsilon)}
    if release.delta:
        parameters["delta"] = f"{float(release.delta):g}"
    if gaussian:
        parameters["rho"] = float(unit.factor * release.rho)
    names = ("Zero-concentrated DP", "Approximate DP", "Pure DP")
    entry = {
        "url_slug": "",
        "status": "Draft",
        "tier": 3,
        "deployment": {
            "basic": {
                "name": "",
                "data_curators": [""],
                "intended_use": "",
                "data_product_type": "Summary statistics",
                "data_product_region": card["Region"],
                "description": "Counts of records in any box or polygon of the region.",
                "publication_date": "1900-01-01",
            },
            "dp_variant": {
                "variant_name": names[0 if gaussian else 1 if release.delta else 2],
                "data_domain": "Files of records with a position in the region.",
                "unprotected_quantities": ", ".join(_public(release)),
            },
            "privacy_loss": {
                "privacy_unit": "record"
                if unit.kind == "record"
                else f"{unit.kind} ({unit.whose})",
                "privacy_unit_details": f"Neighbouring files differ in {unit.sentence}.",
                "privacy_parameters": parameters,
                "privacy_parameters_details": card["Privacy"],
            },
            "deployment_model": {
                "model_name": "Central",
                "release_type": "One release",
                "data_source_type": "Static",
                "access_type": "Non-interactive",
            },
            "accounting": {
                "post_processing": f"{card['Method']}: {card['Settings']}",
                "composition": card["Paid for"],
            },
            "implementation": {
                "mechanisms": f"Discrete {'Gaussian' if gaussian else 'Laplace'} noise, drawn in "
                f"exact integer arithmetic by snhkit {release.versions.get('snhkit', '')}.",
            },
            "administrative": {
                "sources": "",
                "notes": f"Checksum of the release's file: {release.checksum}",
                "registry_authors": [""],
            },
        },
    }
    return "\n".join(_yaml(entry)) + "\n"


def _yaml(part: dict[str, Any], indent: str = "") -> list[str]:
    """Return the lines of nested objects in YAML, whose values may be written as in JSON."""
    lines = []
    for name, value in part.items():
        if isinstance(value, dict):
            lines += [f"{indent}{name}:", *_yaml(value, indent + "  ")]
        else:
            lines.append(f"{indent}{name}: {json.dumps(value)}")
    return lines


def _public(release: Release) -> list[str]:
    """Return the public facts, which the release does not hide."""
    n = [f"n, the number of records: {release.n:,}"] if release.unit.n_public else []
    return ["the region", "the method and its settings", "epsilon", *n]


def _escaped(text: Any) -> str:
    return re.sub(r"([\\`*_{}\[\]<>#|!&])", r"\\\1", printable(str(text)))
