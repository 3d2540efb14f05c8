"""A record at a unique place, and the names of its file, leave no trace in what is published.

Searched are the digits of its coordinates, in degrees and metres, and the bytes of these numbers;
also inside base64, compressed data and the arrays of files. The names are those of the file, its
folder, the computer and the user.
"""

import base64
import contextlib
import getpass
import io
import os
import platform
import re
import socket
import struct
import sys
import traceback
import zlib
from collections.abc import Sequence
from pathlib import Path

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
import shapely
from safetensors.numpy import load as arrays_of

import snhkit as snh
from snhkit.cli.main import main
from snhkit.districts.boxes import estimates_text
from snhkit.districts.districts import Districts
from snhkit.release import card_json, card_markdown
from snhkit.viz.maps import compare_map
from snhkit.viz.reports.answers_report import answers_html
from snhkit.viz.reports.public_page import Imprint, public_html

REGION = snh.Region.around(lat=43.038, lon=-87.91, side_m=2_000)
LAT, LON = 43.0412345678, -87.9087654321
X, Y = REGION.to_xy(LAT, LON)
DIGITS = 8  # of each number: with the point, a metre in degrees, or a millimetre
METHODS = {
    "identity": snh.Identity(100),
    "ug": snh.UniformGrid(),
    "ag": snh.AdaptiveGrid(),
    "privtree": snh.PrivTree(),
    "quadtree": snh.QuadTree(3),
    "dawa": snh.DAWA(order=4),
    "privelet": snh.Privelet(200),
}
BOX = [(43.04, -87.92, 43.045, -87.9)]


def texts() -> list[bytes]:
    """Return the digits of the place, as any program would begin to write them."""
    numbers = [f"{abs(value):.{DIGITS}f}" for value in (LAT, LON, X, Y)]
    return [number[:DIGITS].encode() for number in numbers]


def binary() -> list[bytes]:
    """Return the bytes of the place as floating-point numbers, of either byte order."""
    return [
        struct.pack(order + kind, value)
        for value in (LAT, LON, X, Y, X / 2_000, Y / 2_000)
        for order in "<>"
        for kind in "df"
    ]


def traces(data: bytes, depth: int = 0, needles: Sequence[bytes] = ()) -> list[bytes]:
    """Return what of the place is found in data, and in what is encoded or packed in the data.

    ``needles`` are looked for instead of the place, in capitals and small letters alike.
    """
    if needles:
        found = [needle for needle in needles if needle in data.lower()]
    else:
        found = [needle for needle in texts() + binary() if needle in data]
    if depth == 4:
        return found
    for text in re.findall(rb"[A-Za-z0-9+/]{40,}={0,2}", data):
        for begin in range(4):  # a letter before it may look like a part of it
            part = text[begin:].rstrip(b"=")
            found += traces(base64.b64decode(part[: len(part) // 4 * 4]), depth + 1, needles)
    for start in re.finditer(rb"\x78[\x01\x5e\x9c\xda]|\x1f\x8b\x08", data):
        try:
            part = zlib.decompressobj(47).decompress(data[start.start() :], 2**24)
        except zlib.error:
            continue
        found += traces(part, depth + 1, needles) if part else []
    return found


def packed(data: bytes) -> bytes:
    return zlib.compress(data)


@pytest.mark.parametrize(
    "hidden",
    [
        f"lat={LAT}".encode(),
        repr(float(X)).encode(),
        np.array([0.0, LON]).tobytes(),
        np.array([Y], ">f4").tobytes(),
        b"<img src='data:image/png;base64," + base64.b64encode(b"..." + repr(LAT).encode() * 9),
        b"x" + packed(b"a" * 99 + repr(float(LON)).encode()),
        base64.b64encode(packed(np.full(99, X).tobytes() + bytes(range(60)))),
    ],
)
def test_the_search_finds_the_place(hidden):
    assert traces(b"before" + hidden + b"after")


@pytest.fixture(scope="module")
def records() -> snh.Points:
    near = np.random.default_rng(3).normal(1_000, 300, (300, 2)).clip(1, 1_999)
    return snh.Points(REGION, np.concatenate([near, [[X, Y]]]), np.arange(301))


@pytest.mark.parametrize("name", METHODS)
def test_nothing_that_is_made_of_a_release_has_a_trace(name, records):
    data = snh.PrivateDataset(records, budget=1, unit="user", max_per_user=2)
    release = data.release(METHODS[name], epsilon=1)
    asked = pd.DataFrame(BOX, columns=["south", "west", "north", "east"])
    boxes = snh.RangeQueries.of(REGION, asked)
    wards = gpd.GeoSeries([shapely.box(-87.92, 43.03, -87.9, 43.04)], crs=4326)
    told = {"title": "A city", "about": "Invented."}
    content = release.to_bytes()
    made = {
        "file": content,
        "cards": (repr(release) + release._repr_html_()).encode(),
        "card, JSON": card_json(release).encode(),
        "card, Markdown": card_markdown(release).encode(),
        "ledger": (repr(data.ledger) + data.ledger._repr_html_() + repr(data)).encode(),
        "ledger, table": data.ledger.to_frame().to_csv().encode(),
        "csv": estimates_text(release.estimate(asked), ".csv").encode(),
        "geojson": estimates_text(release.estimate(asked), ".geojson").encode(),
        "cells": release.cells().to_json().encode(),
        "districts": snh.district_map(release, wards).get_root().render().encode(),
        "map": compare_map({name: release}).get_root().render().encode(),
        "report": answers_html({name: release}, boxes, data.ledger, **told).encode(),
    }
    for array in arrays_of(content).values():
        made["arrays"] = made.get("arrays", b"") + array.astype("<f8").tobytes()
        made["text of arrays"] = made.get("text of arrays", b"") + repr(array.tolist()).encode()
    for what, text in made.items():
        assert traces(text) == [], what


NAMES = [b"patients", b"infectious", b"secret-laptop", b"dr-nosy"]
"""Parts of the names of a file, its folder, a computer and a user."""


@pytest.fixture
def telling(tmp_path, monkeypatch):
    """Write private and public files into a folder whose names tell something; return the folder.

    The names of the computer and of the user tell something too.
    """
    for variable in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.setenv(variable, "dr-nosy")
    monkeypatch.setattr(socket, "gethostname", lambda: "secret-laptop")
    monkeypatch.setattr(platform, "node", lambda: "secret-laptop")
    assert getpass.getuser() == "dr-nosy"
    folder = tmp_path / "infectious"
    folder.mkdir()
    lat, lon = REGION.to_latlon(np.random.default_rng(3).normal(1_000, 200, (99, 2)))
    started = pd.date_range("2026-11-01", periods=99, freq="h")
    rows = pd.DataFrame({"lat": [*lat[1:], LAT], "lon": [*lon[1:], LON], "started": started})
    rows.to_csv(folder / "patients.csv", index=False)
    lat, lon = REGION.to_latlon(np.random.default_rng(4).normal(900, 200, (99, 2)))
    pd.DataFrame({"lat": lat, "lon": lon}).to_csv(folder / "patients-public.csv", index=False)
    pd.DataFrame(BOX, columns=["south", "west", "north", "east"]).to_csv(
        folder / "patients-boxes.csv", index=False
    )
    halves = [shapely.box(-1_000, -1_000, 0, 600), shapely.box(0, -1_000, 1_000, 600)]
    frame = gpd.GeoDataFrame({"ward": ["west", "east"]}, geometry=halves, crs=REGION.crs)
    frame.to_crs(4326).to_file(folder / "patients-wards.geojson")
    monkeypatch.chdir(tmp_path)
    return folder


@pytest.mark.parametrize(
    ("given", "method"),
    [
        ("relative", "--districts {}-wards.geojson --label ward"),
        ("absolute", "--method ug"),  # paths are told apart before there is a method
        ("within", "--method ug"),
    ],
)
def test_what_the_command_line_publishes_names_no_file_and_has_no_trace(
    given, method, telling, tmp_path, monkeypatch, capsys
):
    out = tmp_path / "out"
    out.mkdir()
    stem = {
        "relative": "infectious/patients",
        "absolute": telling / "patients",
        "within": "patients",
    }
    stem = str(stem[given])
    if given == "within":
        monkeypatch.chdir(telling)
    release = (
        f"release --data {stem}.csv --center 43.038,-87.91 --side-km 2 {method.format(stem)} "
        f"--public {stem}-public.csv --epsilon 0.5 --budget 2"
    )
    page = f"--page {out}/{{}}.html --page-districts {stem}-wards.geojson --title Trips"
    strata = "--time started --by hour:12"
    lines = (
        f"{release} --out {out}/a.snh {page.format('a')}", f"{release} --out {out}/b.snh --json",
        f"{release} {strata} --out {out}/s.snh {page.format('s')}",
        f"card {out}/s.snh", f"answer {out}/s.snh --boxes {stem}-boxes.csv --json",
        f"answer {out}/s.snh --boxes {stem}-wards.geojson --out {out}/s.geojson",
        f"answer {out}/a.snh --raster {out}/a.tif --cell-m 250",
        f"answer {out}/s.snh --raster {out}/s.tif --cell-m 250",
        f"card {out}/a.snh", f"card {out}/a.snh --out {out}/a.md",
        f"card {out}/a.snh --out {out}/a.json", f"answer {out}/a.snh --boxes {stem}-boxes.csv",
        f"answer {out}/a.snh --boxes {stem}-boxes.csv --out {out}/c.csv",
        f"answer {out}/a.snh --boxes {stem}-boxes.csv --json",
        f"answer {out}/a.snh --boxes {stem}-wards.geojson --out {out}/c.geojson",
        f"story --out {out}/story.html",
        f"verify {out}/a.snh --ledger {stem}.csv.ledger", f"ledger {stem}.csv.ledger",
        f"{release} --epsilon 9 --out {out}/more/a.snh",  # exceeds the budget
    )  # fmt: skip
    if given != "relative":  # the other commands are given no other paths
        lines = [line for line in lines if f"{out}/a.snh" in line and "--raster" not in line]
    for line in lines:
        monkeypatch.setattr(sys, "argv", ["snhkit", *line.split()])
        if refused := "/more/" in line:
            (out / "more").mkdir()
        with pytest.raises(SystemExit, match="2") if refused else contextlib.nullcontext():
            main()
        told = capsys.readouterr()
        assert traces((told.out + told.err).encode()) == [], line
        if ".ledger" not in line:  # whose name is for the owner
            assert traces(told.out.encode(), needles=NAMES) == [], line
    written = sorted(path for path in out.iterdir() if path.is_file())
    assert len(written) == (13 if given == "relative" else 6)
    for path in written:
        assert traces(path.read_bytes() + os.fsencode(path.name), needles=NAMES) == [], path.name
        assert traces(path.read_bytes()) == [], path.name
    assert traces(Path(f"{stem}.csv.ledger").read_bytes()) == []


def test_a_page_needs_a_title_which_is_never_the_name_of_the_file(telling, monkeypatch, capsys):
    words = f"release --data {telling}/patients.csv --center 43.038,-87.91 --side-km 2 --method ug"
    words += " --epsilon 1 --budget 1 --out a.snh --page a.html"
    monkeypatch.setattr(sys, "argv", ["snhkit", *words.split()])
    with pytest.raises(SystemExit):
        main()
    assert "--page needs --title" in capsys.readouterr().err
    assert sorted(path.name for path in telling.iterdir() if path.suffix == ".ledger") == []


def test_what_python_publishes_names_no_file(telling):
    place = {"lat": 43.038, "lon": -87.91, "side_m": 2_000}
    data = snh.PrivateDataset.scan(
        telling / "patients.csv", snh.Region.around(**place), budget=1, unit="record",
        ledger=telling / "patients.ledger",
    )  # fmt: skip
    release = data.release(snh.Identity(100), epsilon=1)
    boxes = telling / "patients-boxes.csv"
    wards = Districts.of(telling / "patients-wards.geojson", "ward")
    page = public_html(release, wards.inside(release.region), Imprint("Trips"))
    made = {
        "file": release.to_bytes(),
        "hash": release.checksum.encode(),
        "card": (repr(release) + release._repr_html_() + card_json(release)).encode(),
        "csv": estimates_text(release.estimate(pd.read_csv(boxes)), ".csv").encode(),
        "geojson": estimates_text(release.estimate(wards), ".geojson").encode(),
        "map": compare_map({"a": release}).get_root().render().encode(),
        "map of districts": snh.district_map(release, wards).get_root().render().encode(),
        "interface": repr(release.__geo_interface__).encode(),
        "points": release.sample_points(1).to_json().encode(),
        "raster": repr(release.to_xarray(250).to_dict()).encode(),
        "page": page.encode(),
    }
    for what, text in made.items():
        assert traces(text, needles=NAMES) == [], what


class Misstating:
    """A method whose release claims less epsilon than the build has spent."""

    def check(self, region, terms):
        pass

    def build(self, *given):
        from dataclasses import replace

        made = snh.Identity(100).build(*given)
        return replace(made, epsilon=made.epsilon / 2, spends=made.spends * 2)


def reachable(error: BaseException) -> list[object]:
    """Return all local variables of the frames of an exception's traceback, but not this test's."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    return [value for frame in frames[1:] for value in frame.f_locals.values()]


def test_a_refused_release_cannot_be_reached_from_the_traceback(records):
    data = snh.PrivateDataset(records, budget=1, unit="record")
    with pytest.raises(snh.SnhkitError) as caught:
        data.release(Misstating(), epsilon=1)  # pyright: ignore[reportArgumentType]
    assert data.ledger.entries[0].state == "failed"
    assert not any(isinstance(value, snh.Release) for value in reachable(caught.value))
    text = io.StringIO()
    traceback.print_exception(caught.value, file=text)
    assert traces(text.getvalue().encode()) == []


def test_a_build_that_fails_prints_no_trace(records, monkeypatch):
    """Whatever an error of another library says, snhkit's own messages and ledger do not."""
    monkeypatch.setattr(
        "snhkit.models.grid_model.GridModel.__init__",
        lambda *_, **__: (_ for _ in ()).throw(RuntimeError(f"at {LAT}, {LON}")),
    )
    data = snh.PrivateDataset(records, budget=1, unit="record")
    with pytest.raises(RuntimeError):
        data.release(snh.Identity(100), epsilon=1)
    assert traces((repr(data.ledger) + data.ledger._repr_html_()).encode()) == []
    assert data.ledger.entries[0].reason == "RuntimeError"
