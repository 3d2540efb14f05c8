"""Four devices, simulated in a process of their own, train what one trains."""

import os
import subprocess
import sys

import numpy as np
import pytest

from snhkit.neural.networks.train import mesh_shape

PROGRAM = """
import sys
import jax
import numpy as np
import optax
from snhkit.geometry import Grid, Region
from snhkit.geometry import SummedArea
from snhkit.neural import FeatureGrid
from snhkit.neural.networks.augment import Augmentation, query_sizes, scattered
from snhkit.neural.networks.train import train

four = jax.devices()
values = np.random.default_rng(0).poisson(5, (16, 16))
table = SummedArea(Grid(Region.around(lat=45, lon=7, side_m=400), 16), values)
network, found = FeatureGrid((4,)), {}
given = Augmentation(table, query_sizes(20, 80, 2), 15.0, None, 0.5, 1.0, 1.0, False)
for devices in (four, four[:1]):
    jax.devices = lambda: devices
    learned = train(network, 2, np.ones((16, 16)), scattered(given),
                    steps=20, batch=64, rates=optax.constant_schedule(0.01), seed=1)
    params = learned.own | {"map": learned.map}
    found |= {f"{len(devices)} {name}": a for name, a in params.items()}
np.savez(sys.argv[1], **found)
"""


@pytest.mark.slow
def test_the_work_is_shared_and_comes_to_the_same(tmp_path):
    """Two devices for each of two networks, halves of each batch on either."""
    assert mesh_shape(4, k=2, batch=64) == (2, 2)
    path = tmp_path / "trained.npz"
    flags = {
        "XLA_FLAGS": "--xla_force_host_platform_device_count=4",
        "JAX_PLATFORMS": "cpu",
        "JAX_DISABLE_MOST_OPTIMIZATIONS": "1",  # compiled in a third of the time
    }
    subprocess.run([sys.executable, "-c", PROGRAM, path], check=True, env=os.environ | flags)
    trained = np.load(path)
    names = [name.removeprefix("1 ") for name in trained if name.startswith("1 ")]
    assert len(names) == 5
    for name in names:
        np.testing.assert_allclose(trained[f"4 {name}"], trained[f"1 {name}"], rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(
    ("devices", "k", "batch", "shape"),
    [(1, 8, 7, (1, 1)), (4, 8, 7, (4, 1)), (4, 2, 6, (2, 2)), (4, 2, 7, (2, 1)), (6, 4, 9, (2, 3))],
)
def test_as_many_devices_as_divide_the_work(devices, k, batch, shape):
    """Networks first, then the squares of a batch."""
    assert mesh_shape(devices, k, batch) == shape
