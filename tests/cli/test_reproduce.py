"""The command that measures the paper's figures again."""

import pandas as pd
import pytest
from click.testing import CliRunner

import snhkit as snh
from snhkit.cli.main import app
from snhkit.experiment.compare import OWNER_ONLY
from snhkit.reproduction import figures


@pytest.fixture
def command(monkeypatch, tmp_path):
    monkeypatch.setattr(figures, "_COMPARED", ("ug", "identity"))
    out = tmp_path / "out"

    def run(*options: str, fails: bool = False):
        runner = CliRunner()
        result = runner.invoke(app, ["reproduce", "--quick", "--out", str(out), *options])
        assert (result.exit_code != 0) is fails, result.output
        return result, out

    return run


def test_an_owners_file_is_measured_and_the_page_warns(command, tmp_path):
    records = snh.synthetic_points("fargo", 2_000)
    region = records.region
    file = tmp_path / "taxis.csv"
    lat, lon = region.to_latlon(records.xy)
    pd.DataFrame({"lat": lat, "lon": lon}).to_csv(file, index=False)
    where = ["--center", f"{region.lat},{region.lon}", "--side-km", str(region.side_m / 1000)]
    _, out = command("--data", str(file), *where, "--figure", "query-size")
    page = (out / "reproduction.md").read_text()
    assert OWNER_ONLY in page
    assert "figures/reproduction_query-size.csv" in page
    assert "\ntaxis.csv,UG," in (out / "figures" / "reproduction_query-size.csv").read_text()
    assert "Veraset" not in page
    assert (out / "figures" / "reproduction_query-size.png").is_file()
    assert "figures/reproduction_query-size.png" in page
    assert len((out / "points.jsonl").read_text().splitlines()) == 1 + 2 * 4


def test_a_file_needs_a_region_and_a_region_a_file(command, tmp_path):
    file = tmp_path / "taxis.csv"
    file.write_text("lat,lon\n46.8,-96.8\n")
    assert "--center" in command("--data", str(file), fails=True)[0].output
    assert "--data with a file" in command("--side-km", "3", fails=True)[0].output
