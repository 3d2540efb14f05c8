"""Sweeps: what a table holds, and that an interruption changes nothing."""

import json

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config

import snhkit as snh
from snhkit.errors import InputError
from snhkit.experiment import Place, intervals_over_seeds, sweep, thinned
from snhkit.experiment.evaluation import SizeBand
from snhkit.experiment.sweep import MEASURES, Cell

BANDS = ((25.0, 100.0), (100.0, 300.0))


@pytest.fixture(scope="module")
def places() -> dict[str, Place]:
    return {
        "Fargo": Place(snh.synthetic_points("fargo", 1_500)),
        "Tulsa": Place(snh.synthetic_points("tulsa", 900)),
    }


def swept(places, **changes) -> pd.DataFrame:
    given = {"bands_m": BANDS, "seeds": (0, 1), "queries": 60} | changes
    return sweep(places, ["ug", "identity"], ["0.1", "1"], **given)


def test_a_row_for_each_build_and_band(places):
    table = swept(places, cell_m=(None, 90.0), n=(None, 1_000))
    # Tulsa has no 1,000 records, and UG no cell width.
    assert len(table) == 3 * 2 * (1 + 2) * 2 * 2
    assert set(table.n) == {1_500, 900, 1_000}
    assert table.loc[table.method == "ug", "cell_m"].isna().all()
    assert np.isfinite(table[list(MEASURES)].to_numpy(float)).all()
    assert "must not be published" in table.attrs["warning"]


@pytest.mark.parametrize("n", [None, 800])
def test_the_errors_are_those_of_a_release_with_the_cells_seed(places, whole, n):
    table = whole if n is None else swept(places, n=(n,))
    row = table[(table.method == "identity") & (table.epsilon == 1) & (table.seed == 1)].iloc[1]
    records = places["Fargo"].records
    records = records if n is None else thinned(records, n, seed=1)
    cell = Cell("Fargo", n, "identity", "1", None, None, None, 1)
    data = snh.PrivateDataset(records, 1, unit="record", n_public=True)
    # Identity does not prepare for sizes: one release answers both bands.
    release = data.release(snh.Identity(), epsilon=1, seed=cell.noise_seed(BANDS[0]))
    around = SizeBand.of(records, BANDS[1], 60, seed=1).around
    assert row.rel_error == around.relative_error(release.answer(around.boxes))
    assert row.bytes == len(release.to_bytes())


@pytest.fixture(scope="module")
def whole(places) -> pd.DataFrame:
    return swept(places)


@pytest.mark.parametrize("left", [1, 5.5])
def test_a_resumed_sweep_equals_an_uninterrupted_one_to_the_bit(places, whole, tmp_path, left):
    file = tmp_path / "sweep.jsonl"
    swept(places, file=file)
    lines = file.read_bytes().splitlines(keepends=True)
    assert len(lines) == 1 + 16
    cut = b"".join(lines[: int(left)])
    file.write_bytes(cut + lines[int(left)][:20] * (left > int(left)))
    resumed = swept(places, file=file)
    pd.testing.assert_frame_equal(resumed, whole, check_exact=True)
    assert len(file.read_bytes().splitlines()) == 17


def test_interrupted_cells_are_kept(places, whole, tmp_path, monkeypatch):
    module = __import__("snhkit.experiment.sweep", fromlist=["measured"])
    measured, calls = module.measured, []

    def interrupted(cell, *others):
        if len(calls) == 3:
            raise KeyboardInterrupt
        calls.append(cell)
        return measured(cell, *others)

    file = tmp_path / "sweep.jsonl"
    monkeypatch.setattr(module, "measured", interrupted)
    with pytest.raises(KeyboardInterrupt):
        swept(places, file=file)
    assert len(file.read_text().splitlines()) == 1 + 3
    monkeypatch.setattr(
        module, "measured", lambda cell, *o: calls.append(cell) or measured(cell, *o)
    )
    pd.testing.assert_frame_equal(swept(places, file=file), whole, check_exact=True)
    assert len(calls) == 3 + 13


@pytest.mark.parametrize("backend", ["threading", pytest.param("loky", marks=pytest.mark.slow)])
def test_processes_change_nothing(places, whole, tmp_path, backend):
    one = {"Fargo": places["Fargo"]}
    with parallel_config(backend):
        parallel = swept(one, processes=2, seeds=(0,), file=tmp_path / "sweep.jsonl")
    alone = whole[(whole.city == "Fargo") & (whole.seed == 0)].reset_index(drop=True)
    pd.testing.assert_frame_equal(parallel, alone, check_exact=True)


def test_seeds_choose_records_squares_and_noise(places):
    table = swept(places, n=(800,))
    errors = table.pivot_table(index=["city", "method", "epsilon", "from_m"], columns="seed")
    assert (errors["rel_error"][0] != errors["rel_error"][1]).all()


def test_networks_take_k_and_depth():
    cell = Cell("", None, "snh-paper", "1", 50.0, 2, 7, 0)
    networks = cell.builder((25, 100)).networks
    assert (networks.k, networks.network.depth) == (2, 7)
    with pytest.raises(InputError, match="snh: depth is not a parameter"):
        Cell("", None, "snh", "1", None, None, 7, 0).builder((25, 100))


def test_intervals_are_students(places):
    table = swept(places, seeds=(0, 1, 2))
    row = intervals_over_seeds(table).iloc[0]
    values = table[(table.city == "Fargo") & (table.method == "ug") & (table.epsilon == 0.1)]
    values = values[values.from_m == 25].rel_error
    assert row.rel_error == pytest.approx(values.mean())
    half = 4.302652729911275 * values.std() / 3**0.5  # t of 2 degrees of freedom at 97.5 %
    assert row.rel_error_high - row.rel_error == pytest.approx(half)
    assert np.isnan(intervals_over_seeds(table[table.seed == 0]).rel_error_low).all()


def test_other_settings_and_other_lines_are_refused(places, tmp_path):
    file = tmp_path / "sweep.jsonl"
    swept(places, file=file)
    with pytest.raises(InputError, match="begun with other settings; name another file"):
        swept(places, file=file, queries=70)
    first, line, *_ = file.read_text().splitlines()
    for wrong in ("[]", "{", line.replace("[[", "[["[:1], 1), json.dumps({"cell": {}})):
        file.write_text(first + "\n" + wrong + "\n")
        with pytest.raises(InputError, match=r"sweep\.jsonl: line 2"):
            swept(places, file=file)


def test_other_records_are_measured_anew(places, tmp_path):
    file = tmp_path / "sweep.jsonl"
    swept(places, file=file)
    other = {"Fargo": Place(thinned(places["Fargo"].records, 1_200))}
    pd.testing.assert_frame_equal(swept(other, file=file), swept(other), check_exact=True)


def test_places_that_differ_in_anything_have_other_digests(places):
    records, public = places["Fargo"].records, places["Tulsa"].records
    moved = snh.Points(public.region, records.xy)
    few = thinned(records, 100)
    made = [Place(records), Place(moved), Place(few), Place(records, few), Place(few, records),
            Place(records, thinned(records, 100, seed=1))]  # fmt: skip
    assert len({place.digest for place in made}) == len(made)
    assert Place(records, few).digest == Place(records, thinned(records, 100)).digest


def test_thinned_keeps_users_and_nests():
    points = snh.synthetic_points("fargo", 500)
    some, fewer = thinned(points, 200, seed=4), thinned(points, 50, seed=4)
    assert (some.xy[:50] == fewer.xy).all()
    assert some.user is not None
    assert len(some.user) == 200
    with pytest.raises(InputError, match="n = 501 is more than the number of points"):
        thinned(points, 501)
