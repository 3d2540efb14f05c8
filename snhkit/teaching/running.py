"""The function ``run``, which runs a notebook in a fresh kernel and an empty folder."""

import tempfile
from typing import Any

from snhkit.errors import InputError

__all__ = ["run"]

_LONGEST_S = 600  # time limit of one cell


def run(notebook: dict[str, Any]) -> dict[str, Any]:
    """Run a notebook in an empty folder, and return a copy with the outputs of the cells."""
    try:
        import nbformat
        from nbclient.exceptions import CellExecutionError

        from snhkit.teaching.kernels import notebook_client
    except ImportError:
        raise InputError('Notebooks need nbclient to run: pip install "snhkit[course]".') from None
    cells = [{**cell, "source": "".join(cell["source"])} for cell in notebook["cells"]]
    content: Any = nbformat.from_dict({**notebook, "cells": cells})
    with tempfile.TemporaryDirectory(prefix="snhkit-") as folder:
        try:
            notebook_client(content, folder, _LONGEST_S).execute()
        except CellExecutionError as error:
            raise InputError(f"The notebook cannot be run: {error}") from None
    return content
