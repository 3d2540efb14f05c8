"""The command that lists versions, devices, and the device on which each task will run."""

import click

from snhkit.cli.output import say

_PACKAGES = (
    "numpy", "scipy", "scikit-learn", "pandas", "pyarrow", "geopandas", "jax", "jaxlib", "optax",
    "ipywidgets", "folium", "duckdb", "dask", "fsspec",
)  # fmt: skip
_EXTRAS = {
    "lab": ("jupyterlab", "the explorer in JupyterLab and as an app of its own"),
    "offline": ("offlinefolium", "maps without a network"),
    "dpsgd": ("dp_accounting", "the method dpsgd"),
    "pgm": ("mbi", "the method pgm"),
    "download": ("pooch", "download of public check-ins"),
    "course": ("nbconvert", "slides of the lectures"),
    "dask": ("distributed", "counting in several processes and on clusters"),
    "raster": ("rioxarray", "releases as GeoTIFF files"),
    "cells": ("h3", "districts that are cells of H3 or other grids"),
}
"""For each extra of the package: a module that the extra installs, and what the extra is for."""


@click.command()
def doctor() -> None:
    """Print versions, devices, the device that each task will use, and missing packages.

    The command reads no records and spends nothing.

    \b
    Example:
      snhkit doctor
    """
    import os
    import platform
    import shutil
    import tempfile

    from snhkit.neural.device import found_devices

    found = found_devices()
    say(f"snhkit {_version('snhkit')}, Python {platform.python_version()}, {platform.platform()}")
    free = shutil.disk_usage(tempfile.gettempdir()).free
    say(
        f"{os.cpu_count()} processor cores, {_memory()} of memory, {free / 2**30:.0f} GiB free in "
        f"{tempfile.gettempdir()}\n"
    )
    say("Packages")
    for name in _PACKAGES:
        say(f"  {name:14} {_version(name) or 'not installed'}")
    say("\nDevices that JAX finds")
    for device in found.devices:
        say(f"  {device}")
    if found.trouble:
        say(f"  none: {found.trouble}")
    say("\nWhat runs where")
    where = "nowhere: JAX does not work" if found.trouble else found.where
    say(f"  training and denoising (snh, snh-paper, denoised, dpsgd)   {where}")
    say("  counts, noise and all other methods                        the processor")
    say(f"  counting the records of large files                        {_threads()}")
    missing = _missing()
    say("\nMissing" if missing else "\nNothing is missing.")
    for line in missing:
        say(f"  {line}")
    if found.advice:
        say(f"\n{found.advice}")


def _version(package: str) -> str | None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _memory() -> str:
    import os

    try:
        return f"{os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / 2**30:.0f} GiB"
    except (AttributeError, ValueError, OSError):  # not on Windows
        return "an unknown amount"


def _threads() -> str:
    from snhkit.data.counting.passes import thread_count

    count = thread_count()
    return "one thread" if count == 1 else f"{count} threads"


def _missing() -> list[str]:
    from importlib.util import find_spec

    return [
        f'{what}: pip install "snhkit[{extra}]"'
        for extra, (package, what) in _EXTRAS.items()
        if find_spec(package) is None
    ]
