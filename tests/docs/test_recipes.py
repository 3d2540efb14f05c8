"""The reader of CONTRIBUTING's recipe reads a file where its two lines are added."""

import re
from pathlib import Path

import pytest

import snhkit as snh
from snhkit.data.sources import files, opening

PAGE = Path(__file__).parents[2] / "CONTRIBUTING.md"


@pytest.mark.skipif(not PAGE.is_file(), reason="not run from the source tree")
def test_a_reader_is_added_by_its_recipe(tmp_path, monkeypatch):
    told = PAGE.read_text(encoding="utf-8")
    found = re.search(r"## Add a reader.*?```python\n(.*?)```", told, re.DOTALL)
    assert found
    recipe: dict = {}
    exec(found[1], recipe)
    monkeypatch.setattr(files, "KINDS", (*files.KINDS, ".jsonl"))
    monkeypatch.setitem(opening._READERS, ".jsonl", recipe["lines_parts"])
    path = tmp_path / "a.jsonl"
    path.write_text('{"lat": 45.0, "lon": 7.0, "who": 1}\n{"lat": 45.001, "lon": 7.0, "who": 2}\n')
    region = snh.Region.around(lat=45, lon=7, side_m=1_000)
    points = snh.read_points(path, region, user="who")
    assert len(points) == 2
    data = snh.PrivateDataset.scan(path, region, 1, unit="record", n_public=True)
    assert data.n == 2
    path.write_text('{"lat": [')
    with pytest.raises(snh.InputError, match=r"a\.jsonl"):
        snh.read_points(path, region)
