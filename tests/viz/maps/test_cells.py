import numpy as np
import pytest

import snhkit as snh
from snhkit.viz.maps import cells
from snhkit.viz.maps.surface import cell_outlines


@pytest.fixture(scope="module")
def data():
    return snh.PrivateDataset(
        snh.synthetic_points("fargo", 2_000), budget=9, unit="record", n_public=True
    )


def corners(drawn) -> np.ndarray:
    boxes = np.reshape(drawn["corners"], (-1, 4)) * drawn["unit"]
    return boxes + np.tile(drawn["origin"], 2)


@pytest.mark.parametrize("builder", [snh.Identity(cell_m=1_243), snh.PrivTree()])
def test_outlines_are_the_cells_in_degrees(data, builder):
    release = data.release(builder, epsilon=1)
    drawn, note = cell_outlines(release)
    wanted = release.cells().geometry.bounds[["miny", "minx", "maxy", "maxx"]].to_numpy()
    assert corners(drawn) == pytest.approx(
        wanted, abs=2e-4
    )  # 20 m: the edges are not quite straight
    assert note.startswith(f"{len(wanted):,} ")


def test_too_many_are_only_counted(data, monkeypatch):
    monkeypatch.setattr(cells, "_MAX_CELLS", 99)
    drawn, note = cell_outlines(data.release(snh.Identity(cell_m=1_243), epsilon=1))
    assert drawn is None
    assert note == "100 equal cells of 1,243 m: too many to outline"
