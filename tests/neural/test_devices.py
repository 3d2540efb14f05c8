"""Four devices, simulated in a process of their own, train what one trains."""

import os
import subprocess
import sys

import numpy as np
import pytest

from snhkit.neural.train import mesh_shape

PROGRAM = """
import sys
import jax
import numpy as np
from snhkit.geometry import Grid, Region
from snhkit.geometry.grid import SummedArea
from snhkit.neural import FeatureGrid
from snhkit.neural.augment import Augmentation, query_sizes, scattered
from snhkit.neural.train import mesh_shape, train

four = jax.devices()
values = np.random.default_rng(0).poisson(5, (16, 16))
table = SummedArea(Grid(Region.around(lat=45, lon=7, side_m=400), 16), values)
network, found = FeatureGrid((4,), fine=8), {}
for k in (4, 1):
    given = Augmentation(table, query_sizes(20, 80, k), 5.0, None, 0.5, 1.0, 1.0, False)
    for devices in (four, four[:1]):
        jax.devices = lambda: devices
        params = train(network, np.ones((k, 81, 2)), scattered(given),
                       steps=26, batch=64, learning_rate=0.01, seed=1)
        found |= {f"{k} {len(devices)} {name}": a for name, a in params.items()}
    found[f"mesh {k}"] = mesh_shape(4, k, 64)
np.savez(sys.argv[1], **found)
"""


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    path = tmp_path_factory.mktemp("devices") / "trained.npz"
    flags = {"XLA_FLAGS": "--xla_force_host_platform_device_count=4", "JAX_PLATFORMS": "cpu"}
    subprocess.run([sys.executable, "-c", PROGRAM, path], check=True, env=os.environ | flags)
    return dict(np.load(path))


@pytest.mark.parametrize(("k", "mesh"), [(4, [4, 1]), (1, [1, 4])])
def test_the_work_is_shared_and_comes_to_the_same(trained, k, mesh):
    """Over four networks, and over the squares of one."""
    assert trained[f"mesh {k}"].tolist() == mesh
    names = [name.removeprefix(f"{k} 1 ") for name in trained if name.startswith(f"{k} 1 ")]
    assert len(names) == 5
    for name in names:
        four, one = trained[f"{k} 4 {name}"], trained[f"{k} 1 {name}"]
        np.testing.assert_allclose(four, one, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(
    ("devices", "k", "batch", "shape"),
    [(1, 8, 7, (1, 1)), (4, 8, 7, (4, 1)), (4, 2, 6, (2, 2)), (4, 2, 7, (2, 1)), (6, 4, 9, (2, 3))],
)
def test_as_many_devices_as_divide_the_work(devices, k, batch, shape):
    """Networks first, then the squares of a batch."""
    assert mesh_shape(devices, k, batch) == shape
