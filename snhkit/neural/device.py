"""A test of JAX that runs before epsilon is spent."""

import os

import jax
import jax.numpy as jnp

from snhkit.errors import InputError

__all__ = ["require_jax"]

_BACKEND_PROCESS: list[int] = []  # the process in which JAX ran first


def require_jax(method: str) -> None:
    """Raise InputError if JAX cannot compute in this process and environment.

    Methods call this function in ``check``, so that a wrong environment costs no epsilon.

    Parameters
    ----------
    method : str
        Name of the method, for the message.

    Raises
    ------
    InputError
        If JAX already ran in the process from which this one was forked, in which case a
        computation would wait for ever; or if JAX finds no device or refuses a small computation.

    Examples
    --------
    >>> require_jax("SNH")
    """
    if _BACKEND_PROCESS and _BACKEND_PROCESS[0] != os.getpid():
        raise InputError(
            f"{method}: JAX ran in the parent of this forked process and would wait here for ever. "
            "Start processes with multiprocessing.get_context('spawn'). Nothing was spent."
        )
    try:
        # As builds do: a program is compiled, and numpy arrays move to the device.
        total = float(jax.jit(lambda a, b: (a + b).sum())(jnp.zeros((2, 2)), jnp.ones((1, 2))))
    except Exception as error:
        first = str(error).partition("\n")[0][:200] or type(error).__name__
        raise InputError(
            f"{method}: JAX cannot compute here ({first}). Unset JAX_PLATFORMS and "
            "JAX_TRANSFER_GUARD, or set JAX_PLATFORMS=cpu, and start Python anew. Nothing was "
            "spent."
        ) from None
    if total != 4:
        raise InputError(f"{method}: JAX computed 4 as {total:g}; its device is not usable.")
    _BACKEND_PROCESS[:] = _BACKEND_PROCESS or [os.getpid()]
