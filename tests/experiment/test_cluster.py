"""Experiments give on the workers of a Dask cluster what they give here."""

import pytest

import snhkit as snh
from snhkit.experiment.evaluation import Place
from snhkit.experiment.sweep import sweep

pytest.importorskip("distributed")


def finished(client):
    """The number of tasks that workers have finished."""

    def of(dask_worker):
        return dask_worker.state.executed_count

    return sum(client.run(of).values())


@pytest.mark.slow
def test_sweeps_run_on_the_same_cluster(client):
    places = {"Fargo": Place(snh.synthetic_points("fargo", 500))}
    asked = (places, ["ug"], ["0.1", "1"])
    one = sweep(*asked, seeds=[0], queries=50)
    other = sweep(*asked, seeds=[0], queries=50, client=client)
    assert one.equals(other)


def test_labels_of_paramselect_are_made_on_the_same_cluster(client):
    asked = ({"Fargo": snh.synthetic_points("fargo", 500)}, [0.1, 1], snh.Identity(), "cell_m")
    one = snh.ParamSelect.fit(*asked, [100, 500], queries=50)
    before = finished(client)
    there = snh.ParamSelect.fit(*asked, [100, 500], queries=50, client=client)
    assert one.labels.equals(there.labels)
    assert finished(client) - before >= 4
