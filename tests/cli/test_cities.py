"""`snhkit cities`: the list of synthetic cities."""

import snhkit as snh


def test_cities_are_listed(run):
    code, out, _ = run("cities")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()] == list(snh.CITIES)
