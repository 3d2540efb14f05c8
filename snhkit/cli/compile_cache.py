"""JAX's persistent compilation cache: commands reuse programs that earlier commands compiled."""

import contextlib
import os

import platformdirs

__all__ = ["switch_on"]

# Programs that compile in fewer seconds are not kept. With JAX's default of 1, half of the programs
# for a small city would not be kept.
_LEAST_SECONDS = "0.5"


def switch_on() -> None:
    """Let this process and its children keep compiled programs in the user's cache folder.

    JAX must not be imported yet. The cache holds programs and the shapes of arrays, no values. The
    library does not call this, since programs that import it keep their own settings of JAX.
    """
    folder = platformdirs.user_cache_path("snhkit", appauthor=False) / "jax"
    if "JAX_COMPILATION_CACHE_DIR" not in os.environ:
        with contextlib.suppress(OSError):  # without a writable folder nothing is kept
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.environ["JAX_COMPILATION_CACHE_DIR"] = str(folder)
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", _LEAST_SECONDS)
