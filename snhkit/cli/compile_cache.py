"""JAX's persistent compilation cache, with which commands reuse programs of earlier commands."""

import contextlib
import os

import platformdirs

__all__ = ["switch_on"]

_LEAST_SECONDS = "0.5"  # JAX's own default of 1 leaves out half of what a small city compiles


def switch_on() -> None:
    """Let this process and its children keep compiled programs in the user's cache folder.

    Call this function before JAX is imported. If ``JAX_COMPILATION_CACHE_DIR`` names a folder,
    this folder is used. The cache holds programs and the shapes of their arguments, not the values
    of the arguments.

    The library does not call this function: a process that imports snhkit decides for itself.
    """
    folder = platformdirs.user_cache_path("snhkit", appauthor=False) / "jax"
    if "JAX_COMPILATION_CACHE_DIR" not in os.environ:
        with contextlib.suppress(OSError):  # without a writable folder nothing is kept
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.environ["JAX_COMPILATION_CACHE_DIR"] = str(folder)
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", _LEAST_SECONDS)
