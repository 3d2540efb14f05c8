"""The state of an explorer as JSON values that can be saved and restored."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from snhkit.methods import METHODS
from snhkit.privacy import exact, written
from snhkit.widgets.building import Order
from snhkit.widgets.controls import Controls
from snhkit.widgets.own_file import OwnFile
from snhkit.widgets.session import Session

__all__ = ["fields", "orders", "state"]


def state(
    session: Session, controls: Controls, boxes: Sequence[Sequence[float]], file: OwnFile | None
) -> dict[str, Any]:
    """Return the state of an explorer as JSON values, none of which depends on real records.

    Parameters
    ----------
    session : Session
        The session on screen.
    controls : Controls
        The controls with the present choices.
    boxes : sequence of (south, west, north, east)
        The boxes in degrees.
    file : OwnFile, optional
        The file on screen; None for a synthetic city.
    """
    keys = {method.title: key for key, method in METHODS.items()}
    return {
        "title": session.title,
        "place": list(controls.place),
        "file": None if file is None else asdict(file),
        "epsilon": controls.epsilon.value,
        "sizes": list(controls.sizes_m),
        "boxes": [list(box) for box in boxes],
        "built": [
            [
                keys[one.title],
                written(one.release.epsilon),
                list(one.release.hyperparameters.get("sizes_m") or controls.sizes_m),
            ]
            for one in session.built.values()
            if one.title in keys
        ],
    }


def fields(earlier: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of ``OwnFile`` from a saved state; the budget is None.

    Without a budget, restoring a state never creates a new ledger.
    """
    told = dict(earlier["file"])
    return told | {"budget": None, "columns": tuple(tuple(pair) for pair in told["columns"])}


def orders(session: Session, controls: Controls, earlier: dict[str, Any]) -> list[Order]:
    """Set the controls to a saved state, and return an ``Order`` for each build to repeat.

    Only releases of invented records are built again. Releases of real records were saved in
    files, and a second build would spend their epsilon again.

    Parameters
    ----------
    session : Session
        The session that was opened.
    controls : Controls
        The controls, which are changed.
    earlier : dict
        The saved state, a result of the function ``state``.

    Raises
    ------
    LookupError, TypeError or ValueError
        If ``earlier`` is not a valid state.
    """
    low, high = map(float, earlier["sizes"])
    controls.low.value, controls.high.value = low, high
    if earlier["epsilon"] in controls.epsilon.options:
        controls.epsilon.value = earlier["epsilon"]
    if not session.invented:
        return []
    return [
        Order(session, (key,), float(exact(str(epsilon))), (float(sizes[0]), float(sizes[1])))
        for key, epsilon, sizes in earlier["built"]
        if METHODS[key].lacks is None and not controls.ticks[key].disabled
    ]
