"""The program that is handed out is run, and makes the same again."""

import re
from dataclasses import replace
from fractions import Fraction

import geopandas as gpd
import numpy as np
import pytest
import shapely

import snhkit as snh
from snhkit.builders.base import hyperparameters
from snhkit.errors import InputError
from snhkit.experiment.code import code, from_files, from_synthetic_city
from snhkit.methods import METHODS
from snhkit.privacy import PrivacyUnit

BOXES = [(44.9985, 6.9985, 45.0, 7.0), (45.0, 6.999, 45.001, 7.001)]


@pytest.fixture(scope="module")
def data(records):
    return snh.PrivateDataset(records, budget=1, unit="record", n_public=True)


@pytest.fixture(scope="module")
def release(data):
    return data.release(snh.UniformGrid(), epsilon=1)


def run(program: str) -> dict:
    told: dict = {}
    exec(compile(program, "<program>", "exec"), told)
    return told


def test_the_program_makes_the_same_releases_and_boxes(records, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    lat, lon = records.region.to_latlon(records.xy)
    rows = (f"{a:.9f},{o:.9f}" for a, o in zip(lat, lon, strict=True))
    (tmp_path / "records.csv").write_text("\n".join(["lat,lon", *rows]))
    data = snh.PrivateDataset(records, budget="2.5", unit="record", n_public=True)
    built = {
        METHODS[key].title: data.release(METHODS[key].builder(), epsilon=epsilon)
        for key, epsilon in {"ug": "0.3", "identity": "0.2", "ag": Fraction(1, 3)}.items()
    }
    built["Own"] = data.release(snh.Identity(cell_m=100), epsilon="0.1")
    source = from_files(data.region, "records.csv")
    told = run(code(source, data, built, BOXES))
    assert told["data"].region == data.region
    assert told["data"].n == len(records)
    assert told["data"].ledger.total == data.ledger.total
    assert told["data"].ledger.spent == data.ledger.spent
    boxes = snh.RangeQueries.from_degrees(data.region, *zip(*BOXES, strict=True))
    np.testing.assert_array_equal(told["boxes"].x, boxes.x)
    for name, release in built.items():
        again = told["releases"][name]
        assert (again.method, again.hyperparameters) == (release.method, release.hyperparameters)
        assert again.epsilon == release.epsilon
    assert told["fmap"].get_name().startswith("map_")
    printed = capsys.readouterr().out
    assert all(f"{name}\n" in printed for name in built)
    assert printed.count("area_m2") == len(built)


def test_a_synthetic_city_is_made_by_its_key():
    records, public = from_synthetic_city("fargo", 30).splitlines()
    assert records == 'records = snh.synthetic_points("fargo", 30)'
    assert public == 'public = snh.synthetic_points("fargo", world="public")'


def test_somebodys_files_are_named_and_their_place_and_unit_are_exact(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    region = snh.Region.around(lat=45, lon=7.1, side_m=1234.5)
    (tmp_path / "records.csv").write_text("lat,lon,user\n45,7.1,a\n45,7.1,b\n")
    (tmp_path / "public.csv").write_text("lat,lon\n45,7.1\n")
    records = snh.read_points("records.csv", region, user="user", report=lambda _: None)
    data = snh.PrivateDataset(records, 1, unit="user", max_per_user=3, whose="household")
    source = from_files(region, "records.csv", [("user", "user")], "public.csv")
    told = run(code(source, data, {}, []))
    assert told["region"] == region
    assert told["data"].unit == PrivacyUnit("user", 3, "household")
    with pytest.raises(InputError, match="number of records is private"):
        _ = told["data"].n
    assert len(told["public"]) == 1
    assert (
        run(from_files(region, "records.csv").join(["import snhkit as snh\n", ""]))["public"]
        is None
    )


@pytest.mark.parametrize("key", METHODS)
@pytest.mark.parametrize("given", [{}, {"sizes_m": (50.0, 200.0), "cell_m": 30.0}])
def test_every_method_is_written_as_it_was_built(data, release, key, given):
    builder = METHODS[key].builder(**given)
    told = hyperparameters(builder)
    made = replace(release, method=type(builder).__name__, hyperparameters=told)
    (line,) = re.findall(r"data\.release\((.*), epsilon", code("", data, {"A": made}, []))
    assert eval(line, {"snh": snh}) == builder
    assert line.endswith("()") or given  # what is usual is not written


@pytest.mark.parametrize(
    "builder",
    [
        snh.SNH(30, networks=snh.Networks(k=4, network=snh.FeatureGrid((16,), hidden=8))),
        snh.SNH(networks=snh.Networks(network=snh.MLP(3, 8)), prior=snh.Prior(turns=1)),
        snh.SNH.paper(20, k=2, steps=500),
        snh.SNH(networks=snh.Networks.paper(), prior=snh.Prior()),
        snh.DenoisedGrid(prior=snh.Prior(2)),
    ],
    ids=["encoder", "prior", "paper", "paper and prior", "turns"],
)
def test_networks_and_priors_are_written(data, release, builder):
    made = replace(release, method=type(builder).__name__, hyperparameters=hyperparameters(builder))
    (line,) = re.findall(r"data\.release\((.*), epsilon", code("", data, {"A": made}, []))
    assert eval(line, {"snh": snh}) == builder


def test_districts_are_read_from_a_file_whose_name_is_to_be_filled_in(data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = gpd.GeoSeries([shapely.box(-9, -9, 9, 9)], crs=data.region.crs).to_crs(4326)
    frame.to_file("districts.geojson")
    data = snh.PrivateDataset(data._source._points, budget=1, unit="record", n_public=True)
    made = data.release(snh.Tessellation(frame), epsilon=1)
    program = code("", data, {"Districts": made}, [])
    assert "import geopandas" in program
    (line,) = re.findall(r"data\.release\((.*), epsilon", program)
    assert eval(line, {"snh": snh, "geopandas": gpd}).districts.labels == ("0",)
    assert "import geopandas" not in code("", data, {}, [])


def test_a_method_that_snhkit_does_not_have_is_named(data, release):
    with pytest.raises(InputError, match="Mine is not a method of snhkit"):
        code("", data, {"A": replace(release, method="Mine")}, [])


def test_the_program_of_strata_names_them(capsys):
    records = snh.synthetic_points("fargo", 500)
    data = snh.PrivateDataset(records, budget=3, unit="record", n_public=True)
    by = snh.By.hour(12)
    made = data.release(snh.Identity(1_000), epsilon=1, by=by).total()
    program = code(from_synthetic_city("fargo", 500), data, {"A": made}, [data.region.bounds])
    assert run(program)["releases"]["A"].by == by
    assert "[2 rows" in capsys.readouterr().out
    for by in (
        snh.By.column("kind", ["bike"]),
        snh.By.column("kind", ["bike", "tram"], other=False),
    ):
        model = replace(made.model, by=by)
        program = code("", data, {"A": replace(made, model=model)}, [])
        (text,) = re.findall(r"by=(snh.By.column\(.*\))\)", program)
        assert eval(text, {"snh": snh}) == by
