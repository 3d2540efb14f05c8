"""Hidden tests: inputs of functions that students write, drawn anew for each class."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import linprog

from snhkit import privacy

NAMES: dict[str, Any] = {"np": np, "privacy": privacy, "linprog": linprog}
"""What solutions use of the first cells of lectures."""

_CASES = 5  # of each function


class _Draw:
    """Draws of numbers that no student can know."""

    def __init__(self) -> None:
        self._rng = np.random.default_rng(privacy.SystemEntropy().words(4))

    def __call__(self, low: float, high: float) -> Any:
        """Return a number from low to high, a whole one if both are whole."""
        if isinstance(low, int) and isinstance(high, int):
            return int(self._rng.integers(low, high, endpoint=True))
        return round(float(self._rng.uniform(low, high)), 3)

    def array(self, low: float, high: float, *shape: int) -> Any:
        """Return an array of such numbers."""
        return np.array([self(low, high) for _ in range(np.prod(shape))]).reshape(shape)

    def delta(self) -> float:
        """Return a small probability."""
        return float(f"1e-{self(4, 9)}")


_DRAWN: dict[str, Callable[[_Draw], tuple[Any, ...]]] = {
    "00-left-over": lambda r: (r(1_000, 10**6), r(3, 60), r(1, 5)),
    "00-rebuild": lambda r: (r.array(0, 1, 6, 4), r.array(0, 3, 6)),
    "02-largest-epsilon": lambda r: (r(0.51, 0.99),),
    "02-laplace": lambda r: (r(0.001, 0.999), r(0.5, 20.0)),
    "02-whole-laplace": lambda r: (r(0.001, 0.05) + 0.949 * r(0, 1), r(0.2, 2.0)),  # never 0
    "02-answers": lambda r: (r(0.02, 0.1), r(0.2, 1.5)),  # so many that rounding them is allowed
    "03-noise-of-a-box": lambda r: ((cell := r(20, 100)) * r(2, 12), cell, r(0.05, 1.0)),
    "03-ug-width": lambda r: (r(1_000.0, 30_000.0), r(1_000, 10**6), r(0.05, 1.0)),
    "03-split": lambda r: (r.array(0, 60, 4), r(1, 6), r(2.0, 10.0), r.array(-12.0, 12.0, 4)),
    "04-square": lambda r: (
        r.array(-9, 60, 4, 4),
        40,
        r(0.0, 80.0),
        r(0.0, 80.0),
        r(10.0, 80.0),
    ),
    "04-blind": lambda r: (
        [25, 50, 100, 200],
        r.array(-5, 90, 4, 6),
        r.array(-5, 90, 6),
        r.array(-5, 90, 6),
    ),
    "04-one-network": lambda r: (
        r.array(1.0, 40.0, 3),
        np.array([r(20.0, 45.0), r(50.0, 75.0), r(80.0, 100.0)]),
        r(15.0, 120.0) + 1e-4,  # so that no two sizes are equally near
    ),
    "05-scaled": lambda r: (r(0.05, 1.0), r(5_000, 50_000), r(1_000, 20_000)),
    "06-average": lambda r: (r(3, 40),),
    "06-interval": lambda r: (r(-30, 500), r(1.0, 40.0), r(0.5, 0.995)),
    "07-relative": lambda r: (r(-20, 200), r(0, 100), r(1_000, 50_000)),
    "07-luck": lambda r: (r(2, 9), r(2, 6)),
    "09-bound": lambda r: (r(40, 90), r(0, 20), 90, r(0.5, 0.999)),
    "10-week": lambda r: ([(r(1, 5), r(0.1, 1.0)) for _ in range(6)],),
    "10-share": lambda r: (r(0.2, 4.0), r(2, 365)),
    "10-tree": lambda r: (
        [r.array(0, 99, 2**k).tolist() for k in (4, 3, 2, 1, 0)],
        r(0, 7),
        r(8, 15),
    ),
    "11-truthful": lambda r: (r(3, 900), r(0.2, 4.0)),
    "11-apart": lambda r: (r(0.1, 5.0), r(0.2, 3.0)),
    "12-chances": lambda r: (r.array(0.0, 30.0, 4), r(0.1, 2.0), r(0.5, 4.0)),
    "13-advanced": lambda r: (r(0.01, 0.5), r(5, 500), r.delta()),
    "13-from-rho": lambda r: (r(0.01, 2.0), r.delta()),
    "13-most-answers": lambda r: (r(0.3, 3.0), r.delta(), r(20.0, 100.0)),
    "14-clipped-sum": lambda r: (r.array(-3.0, 3.0, 4, 3), r(0.5, 3.0)),
    "14-most-changed": lambda r: (r.array(0, 1, 4, 6), r(0.5, 5.0)),
    "14-noise": lambda r: (r(0.01, 1.0), r(2, 400), r(0.5, 3.0)),
}


def hidden_test(check: str, solution: str) -> str:
    """Return the code of a cell's check on inputs that nobody has seen; empty if it has none.

    ``check`` is the code of the cell. The results are those of the lecture's solution.
    """
    exercise = check.split('"')[1]
    if exercise not in _DRAWN:
        return ""
    names = dict(NAMES)
    exec(solution.partition("\n\n\n")[0], names)  # noqa: S102 - code of the lecture
    function, draw = names[solution.removeprefix("def ").partition("(")[0]], _Draw()
    inputs = [_DRAWN[exercise](draw) for _ in range(_CASES)]
    cases = [(args, np.asarray(function(*args), float).tolist()) for args in inputs]
    lines = ",\n    ".join(repr(case).replace("array(", "np.array(") for case in cases)
    return f"{check.rstrip().removesuffix(')')}, cases=[\n    {lines},\n])"
