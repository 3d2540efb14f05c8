"""The process of one hand-in, which limits itself before it runs the student's code.

``snhkit.teaching.league`` runs this file by its path, since a process can leave the network only
before a library has started threads. A job is read from standard input as JSON. Results are lines
of JSON on standard output, the first of which is written before the student's code is loaded.
Whatever the code prints is dropped.
"""

import base64
import ctypes
import json
import os
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

_MEMORY = 4 * 2**30  # bytes of address space
_NEW_USER, _NEW_NETWORK = 0x10000000, 0x40000000  # flags of unshare(2)


def limit(seconds: int) -> list[str]:
    """Limit this process, and return the names of the limits that the platform does not have."""
    if sys.platform == "win32":
        return ["memory", "writing of files"]
    import resource

    lacking = []
    for name, kind, most in (
        ("memory", resource.RLIMIT_AS, _MEMORY),
        ("writing of files", resource.RLIMIT_FSIZE, 0),
        ("computing time", resource.RLIMIT_CPU, seconds),
    ):
        try:
            # At a soft limit of time, a signal ends the process that tells this limit from others.
            resource.setrlimit(kind, (most, most + 5 * (kind == resource.RLIMIT_CPU)))
        except (OSError, ValueError):
            lacking.append(name)
    return lacking


def _offline() -> bool:
    """Leave all networks; return whether the platform could."""
    if not sys.platform.startswith("linux"):
        return False
    unshare = getattr(ctypes.CDLL(None), "unshare", None)
    if unshare is None:
        return False
    return unshare(_NEW_USER | _NEW_NETWORK) == 0 or unshare(_NEW_NETWORK) == 0


def main(file: str, seconds: str) -> None:
    """Run the job on standard input with the hand-in in ``file``."""
    offline = _offline()
    results = os.fdopen(os.dup(1), "w", encoding="ascii")
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 1)
    os.dup2(null, 2)

    def send(**message: Any) -> None:
        results.write(json.dumps(message) + "\n")
        results.flush()

    job = json.load(sys.stdin)
    import snhkit.loading  # noqa: F401 - before the limits: libraries write files to try folders

    send(lacking=[*([] if offline else ["network"]), *limit(int(seconds))])
    try:
        module = ModuleType("handin")
        sys.modules["handin"] = module  # where dataclasses look for their module
        with open(file, encoding="utf-8") as source:  # noqa: PTH123 - as few imports as possible
            exec(compile(source.read(), "handin", "exec"), module.__dict__)  # noqa: S102
        (_attack if "targets" in job else _build)(module, job, send)
    except BaseException as error:
        send(error=_told(error))


def _build(module: ModuleType, job: dict[str, Any], send: Callable[..., None]) -> None:
    """Send whether there is an attack, and many releases by the hand-in's ``mechanism``."""
    from snhkit.geometry import Points, Region
    from snhkit.privacy import Measurements, PointSource, PrivacyUnit, SystemEntropy, Terms, exact

    send(attack=callable(getattr(module, "attack", None)))
    mechanism: Any = getattr(module, "mechanism", None)
    if isinstance(mechanism, type) or not all(
        callable(getattr(mechanism, name, None)) for name in ("check", "build")
    ):
        raise TypeError("mechanism must be an object with the functions check and build")
    source = PointSource(Points(Region(**job["region"]), job["records"]))
    terms = Terms(exact(job["epsilon"]), PrivacyUnit("record"))
    mechanism.check(source.region, terms)
    for _ in range(job["runs"]):
        # The people are invented, so no ledger is kept; the reader of a release checks its cost.
        content = mechanism.build(Measurements(source, terms, SystemEntropy())).to_bytes()
        send(release=base64.b64encode(content).decode())


def _attack(module: ModuleType, job: dict[str, Any], send: Callable[..., None]) -> None:
    """Send the guesses of the hand-in's ``attack`` for each mechanism, or the error it raised."""
    import numpy as np

    from snhkit.geometry import Points, Region
    from snhkit.loading import load

    for target in job["targets"]:
        region, guesses = Region(**target["region"]), []
        without, included = (Points(region, target[name]) for name in ("without", "included"))
        try:
            for path in target["releases"]:
                guess = module.attack(load(path), without, included)
                if not isinstance(guess, (bool, np.bool_)):
                    raise TypeError(f"attack must return True or False, not {type(guess).__name__}")
                guesses.append(bool(guess))
        except Exception as error:  # a release may be made to stop attacks on others
            send(guesses=_told(error))
        else:
            send(guesses=guesses)


def _told(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:200]


if __name__ == "__main__":
    main(*sys.argv[1:])
