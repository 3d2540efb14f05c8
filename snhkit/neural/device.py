"""The devices that JAX finds; apart, since the command line itself must not import JAX."""

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import jax

from snhkit.builders.jax_ready import require_jax
from snhkit.errors import InputError


@dataclass(frozen=True)
class Found:
    """The devices that JAX finds and those that train; ``trouble`` and ``advice`` may be empty."""

    devices: tuple[str, ...]
    where: str
    trouble: str = ""
    advice: str = ""


def found_devices() -> Found:
    """Return the devices that JAX finds, and where networks are trained."""
    try:
        require_jax("JAX")
        devices = jax.devices()
    except InputError as error:
        return Found((), "", str(error).removeprefix("JAX: ").removesuffix(" Nothing was spent."))
    lines = tuple(f"{device.platform}:{device.id} {device.device_kind}" for device in devices)
    kind, count = devices[0].platform, len(devices)
    where = "the processor" if kind == "cpu" else f"one device of kind {kind}"
    if count > 1:
        where = f"{count} devices of kind {kind}, networks and batches shared among them"
    idle = kind == "cpu" and Path("/proc/driver/nvidia/version").exists()
    advice = ""
    if idle and find_spec("jax_cuda12_plugin") is None:
        advice = 'JAX does not use the installed NVIDIA driver: pip install "jax[cuda12]".'
    return Found(lines, where, advice=advice)
