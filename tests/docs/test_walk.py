"""The walk of a record that docs/architecture.md draws is the one that it takes."""

import re
import sys
import threading
from pathlib import Path

import snhkit as snh

ROOT = Path(snh.__file__).parent
PAGE = ROOT.parent / "docs" / "architecture.md"


def test_the_walk_of_a_record_is_drawn(tmp_path):
    path = tmp_path / "trips.csv"
    walked = {"privacy/entropy.py"}  # whose words the tests replace
    path.write_text("lat,lon,user\n37.76,-122.43,7\n37.761,-122.431,8\n")
    city = snh.Region.around(lat=37.76, lon=-122.43, side_m=1_000)
    terms = {"unit": "user", "max_per_user": 2, "user": "user"}

    def see(frame, event, arg):
        file = Path(frame.f_code.co_filename)
        if event == "call" and ROOT in file.parents:
            walked.add(file.relative_to(ROOT).as_posix())

    snh.PrivateDataset.scan(path, city, 1, **terms)  # imports
    before = sys.getprofile()
    threading.setprofile(see)
    sys.setprofile(see)
    try:
        snh.PrivateDataset.scan(path, city, 1, **terms)
    finally:
        sys.setprofile(before)
        threading.setprofile(None)

    page = PAGE.read_text(encoding="utf-8").split("## The walk of a record")[1].split("\n## ")[0]
    told = re.search(r"runs through (\d+) files, (\d+) of them in\n`snhkit/data/`", page)
    inside = [file for file in walked if file.startswith("data/")]
    assert told is not None
    assert (len(walked), len(inside)) == tuple(map(int, told.groups()))
    assert len(walked) <= 25
    named = set(re.findall(r"\w+\.py", page))
    assert {file.rpartition("/")[2] for file in walked} <= named
