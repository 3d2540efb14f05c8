"""Run a lecture's cells where JAX, pyarrow and a network are missing, as in a browser's kernel.

``python without_jax.py NOTEBOOK ...`` runs all cells with the solutions in place, with few records
and runs, and ends with an error if a cell raises, or a check does not call its answer right.
"""

import json
import os
import socket
import sys
from pathlib import Path
from typing import Any, NoReturn

MISSING = ("jax", "jaxlib", "optax", "pyarrow")
FEWER = {"N": 6_000, "RUNS": 60}


def main(paths: list[Path]) -> None:
    """Block the modules and the network, then run the notebooks."""
    for name in MISSING:
        sys.modules[name] = None  # pyright: ignore
    socket.socket.connect = refuse  # pyright: ignore
    os.environ["MPLBACKEND"] = "Agg"

    from IPython.core.interactiveshell import InteractiveShell
    from IPython.display import display

    InteractiveShell.instance()  # without a shell, a display cannot be updated
    for path in paths:
        run(path, {"display": display, "__name__": "__main__"})


def run(path: Path, names: dict[str, Any]) -> None:
    from snhkit.teaching import with_solutions

    for cell in with_solutions(json.loads(path.read_text(encoding="utf-8")))["cells"]:
        if cell["cell_type"] != "code":
            continue
        lines = "".join(cell["source"]).splitlines()
        source = "\n".join(line for line in lines if not line.startswith("%"))
        tags = cell["metadata"].get("tags", [])
        if "check" in tags:
            verdict = eval(source, names)
            assert verdict, f"{path.stem}, {cell['id']}: {verdict!r}"
        else:
            exec(compile(source, f"{path.stem}, {cell['id']}", "exec"), names)
        if "parameters" in tags:
            names.update(FEWER)


def refuse(self: socket.socket, address: Any) -> NoReturn:
    """Stand for a network that is not there."""
    raise OSError(f"no network: {address}")


if __name__ == "__main__":
    main([Path(word) for word in sys.argv[1:]])
