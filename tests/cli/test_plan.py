"""``snhkit plan``: errors before paying."""

import pytest
from click.testing import CliRunner

import snhkit as snh
from snhkit.cli.main import app
from snhkit.errors import InputError


def run(*words: object) -> str:
    found = CliRunner().invoke(app, ["plan", *map(str, words)])
    if found.exception and not isinstance(found.exception, SystemExit):
        raise found.exception
    return found.output


def test_errors_of_all_methods_and_a_recommendation():
    told = run("--n", 200_000, "--epsilon", "0.2,0.8")
    assert "Epsilon 0.2, 200,000 records" in told
    assert told.count("PrivTree  ") == 2
    assert "An estimate, not a promise; nothing was spent." in " ".join(told.split())
    assert max(map(len, told.splitlines())) <= 80


def test_the_epsilon_for_an_error():
    told = run("--n", 200_000, "--methods", "identity,privtree", "--error", "0.3")
    assert "Identity" in told
    with pytest.raises(InputError, match="no epsilon gives an expected rel_error"):
        run("--n", 200_000, "--methods", "ug", "--error", "0.0001")
    assert "none" in run("--n", 200_000, "--error", "0.0001")


def test_public_points_narrow_the_range(tmp_path):
    file = tmp_path / "public.csv"
    rows = "\n".join(f"{45 + i % 50 / 1e3},{7 + i % 49 / 1e3}" for i in range(500))
    file.write_text("lat,lon\n" + rows)
    words = ["--public", file, "--center", "45.02,7.02", "--side-km", "8"]
    assert "must be given together" in run("--n", 50_000, *words[:2])
    words += ["--n", 70_000, "--sizes-m", "300,1000", "--unit", "user-day", "--max-per-user", 2]
    words += ["--by", "weekday", "--methods", "ug"]
    region = snh.Region.around(lat=45.02, lon=7.02, side_m=8_000)
    given = {
        "n": 70_000, "sizes_m": (300, 1_000), "region": region, "by": snh.By.weekday(),
        "public": snh.read_points(file, region), "unit": "user-day", "max_per_user": 2,
    }  # fmt: skip
    told = " ".join(run(*words, "--epsilon", "0.5").split())
    row = snh.expected_error("ug", epsilon="0.5", **given).iloc[0]
    assert f"UG {row.rel_error:.3f} {row.rel_error_low:.3f} to {row.rel_error_high:.3f}" in told
    assert f"{row.abs_error_anywhere:.3g} " in told
    assert " ".join(snh.recommend(epsilon="0.5", **given).reason.split()) in told
    assert f"UG {snh.epsilon_for('ug', 0.8, **given):g} " in " ".join(
        run(*words, "--error", "0.8").split()
    )


def test_the_unit_of_privacy():
    told = run("--n", 50_000, "--epsilon", "0.5", "--unit", "user", "--max-per-user", 5)
    assert "at most 5 records of a user" in " ".join(told.split())
    rows = [line for line in told.splitlines() if line.startswith("Identity")]
    alone = run("--n", 50_000, "--epsilon", "0.1").splitlines()
    assert rows == [line for line in alone if line.startswith("Identity")]


def test_the_price_of_strata():
    told = " ".join(run("--n", 240_000, "--by", "hour", "--methods", "ug").split())
    assert "in each stratum by hour" in told
    assert "With strata by hour" in told
    assert "with one map of all records" in told
    alone = " ".join(run("--n", 10_000, "--methods", "ug").split())
    row = alone.partition("UG")[2].split()[:5]
    assert told.partition("UG")[2].split()[:5] == row
