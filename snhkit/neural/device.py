"""A test of JAX that runs before epsilon is spent, and the devices that JAX finds."""

import os
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import jax
import jax.numpy as jnp

from snhkit.errors import InputError

__all__ = ["Found", "found_devices", "require_jax"]

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
        If this process was forked from one in which JAX had already run, so that a computation
        would never end, or if JAX finds no device or fails at a small computation.

    Examples
    --------
    >>> require_jax("SNH")
    """
    if _BACKEND_PROCESS and _BACKEND_PROCESS[0] != os.getpid():
        raise InputError(
            f"{method}: this process was forked from a process in which JAX had run, "
            "so JAX would never return here. Start processes with "
            "multiprocessing.get_context('spawn'). Nothing was spent."
        )
    try:
        # As in a build, a program is compiled, and numpy arrays move to the device.
        total = float(jax.jit(lambda a, b: (a + b).sum())(jnp.zeros((2, 2)), jnp.ones((1, 2))))
    except Exception as error:
        first = str(error).partition("\n")[0][:200] or type(error).__name__
        raise InputError(
            f"{method}: JAX cannot compute here ({first}). Unset JAX_PLATFORMS and "
            "JAX_TRANSFER_GUARD, or set JAX_PLATFORMS=cpu, and restart Python. Nothing was "
            "spent."
        ) from None
    if total != 4:
        raise InputError(
            f"{method}: JAX computed the sum of four ones as {total:g}, so its device "
            "is not usable; set JAX_PLATFORMS=cpu and restart Python. Nothing was "
            "spent."
        )
    _BACKEND_PROCESS[:] = _BACKEND_PROCESS or [os.getpid()]


@dataclass(frozen=True)
class Found:
    """The devices that JAX finds, and the reasons why other devices cannot be used.

    Parameters
    ----------
    devices : tuple of str
        A description of each device.
    where : str
        The devices on which networks are trained.
    trouble : str
        The reason why JAX cannot compute; empty if it can.
    advice : str
        Advice on using a device that is present but not used; empty if there is none.
    """

    devices: tuple[str, ...]
    where: str
    trouble: str = ""
    advice: str = ""


def found_devices() -> Found:
    """Return the devices that JAX finds, and where networks are trained.

    Examples
    --------
    >>> found_devices().trouble
    ''
    """
    try:
        require_jax("JAX")
        devices = jax.devices()
    except InputError as error:
        return Found((), "", str(error).removeprefix("JAX: ").removesuffix(" Nothing was spent."))
    lines = tuple(f"{device.platform}:{device.id} {device.device_kind}" for device in devices)
    kind, count = devices[0].platform, len(devices)
    where = "the processor" if kind == "cpu" else f"{kind}, {count} of it"
    if count > 1:
        where = f"{count} devices of kind {kind}, networks and batches shared among them"
    idle = kind == "cpu" and Path("/proc/driver/nvidia/version").exists()
    advice = ""
    if idle and find_spec("jax_cuda12_plugin") is None:
        advice = 'JAX does not use the installed NVIDIA driver: pip install "jax[cuda12]".'
    return Found(lines, where, advice=advice)
