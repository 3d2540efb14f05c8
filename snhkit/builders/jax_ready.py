"""Checks that JAX works, made before epsilon is spent and before networks answer queries."""

import os

from snhkit.errors import InputError

_BACKEND_PROCESS: list[int] = []  # the process in which JAX ran first


def require_jax(method: str) -> None:
    """Raise InputError if JAX cannot compute here; for ``check``, before epsilon is spent."""
    refuse_forked(method)
    try:
        import jax
        import jax.numpy as jnp

        # As in a build, a program is compiled, arrays move to the device, and types are mixed.
        added = jax.jit(lambda a, b: (a + b).sum() + 0.5 * jnp.arange(1))
        total = float(added(jnp.zeros((2, 2)), jnp.ones((1, 2)))[0])
    except Exception as error:
        first = str(error).partition("\n")[0][:200] or type(error).__name__
        raise InputError(
            f"{method}: JAX cannot compute here ({first}). Unset JAX_PLATFORMS, "
            "JAX_TRANSFER_GUARD and JAX_NUMPY_DTYPE_PROMOTION, or set JAX_PLATFORMS=cpu, and "
            "restart Python. Nothing was spent."
        ) from None
    if total != 4:
        raise InputError(
            f"{method}: JAX computed the sum of four ones as {total:g}, so its device "
            "is not usable; set JAX_PLATFORMS=cpu and restart Python. Nothing was "
            "spent."
        )


def refuse_forked(method: str) -> None:
    """Raise InputError in a fork of a process in which JAX had run, where JAX would never end."""
    if _BACKEND_PROCESS and _BACKEND_PROCESS[0] != os.getpid():
        raise InputError(
            f"{method}: this process was forked from a process in which JAX had run, "
            "so a computation with JAX would never end here. Start processes with "
            "multiprocessing.get_context('spawn'). Nothing was spent."
        )
    _BACKEND_PROCESS[:] = [os.getpid()]
