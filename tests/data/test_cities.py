"""The twelve cities of the paper, by every name, with the figures of its authors."""

from pathlib import Path

import pandas as pd
import pytest

from snhkit.data import CITIES, city
from snhkit.errors import InputError


@pytest.mark.parametrize("key", CITIES)
def test_every_city_is_found_by_every_name(key):
    c = CITIES[key]
    for name in (key, c.name, c.name.upper(), c.published_as, key.replace("_", "-"), c):
        assert city(name) is c
    assert 25 < c.lat < 49  # the contiguous United States
    assert -125 < c.lon < -67
    assert c.region.to_xy(c.lat, c.lon) == pytest.approx([c.side_m / 2] * 2)


def test_boxes_are_those_of_the_published_entropies():
    assert {c.side_m for c in CITIES.values() if c.key != "boston"} == {12_430}
    assert CITIES["boston"].side_m == 24_860


def test_a_misspelling_is_met_with_what_is_near():
    with pytest.raises(InputError, match=r"did you mean san_francisco\? The cities are: fargo, "):
        city("san fransisco")
    with pytest.raises(InputError, match=r"'x{60}'\. The cities are: "):
        city("x" * 10_000)


def test_published_figures_are_those_of_the_authors_table():
    path = Path(__file__).resolve().parents[3] / "shared" / "paper" / "paramselect_gowalla.csv"
    if not path.exists():
        pytest.skip("paramselect_gowalla.csv is not in shared/paper beside this checkout")
    table = pd.read_csv(path)
    table = table[table["dataset"] == "gowalla"].groupby("city").first()
    assert set(table.index) == {c.published_as for c in CITIES.values()}
    for c in CITIES.values():
        row = table.loc[c.published_as]
        assert row["n_at_entropy"] == c.n_at_entropy
        assert row["entropy_512_nats"] == pytest.approx(c.entropy_512_nats, abs=1e-6)
