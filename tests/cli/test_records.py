"""The options that name the records and their columns."""

import numpy as np

import snhkit as snh

WHERE = ["--center", "43.038,-87.91", "--side-km", "2"]


def test_advice_on_columns_is_given_in_options(run, tmp_path):
    region = snh.Region.around(43.038, -87.91, side_m=2_000)
    lat, lon = region.to_latlon(np.full((9, 2), 1_000.0))
    np.save(tmp_path / "swapped.npy", np.stack([lon, lat], axis=1))
    words = ["compare", "--data", "swapped.npy", *WHERE, "--methods", "ug", "--queries", 5]
    code, _, err = run(*words)
    assert code == 2
    assert "look swapped" in err
    assert "pass --lat '1', --lon '0'." in err
    assert run(*words, "--lat", 1, "--lon", 0)[0] == 0
