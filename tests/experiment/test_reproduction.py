"""The paper's figures measured again: their points, verdicts and page."""

import pandas as pd
import pytest

import snhkit as snh
from snhkit.cli.reproduce import _page
from snhkit.errors import InputError
from snhkit.experiment import Place, verdicts
from snhkit.experiment import reproduction as module
from snhkit.experiment.reproduction import FIGURES, Row, figure
from snhkit.viz.figures.reproduction import reproduction_figure


def table(*rows: tuple[str, float, float]) -> pd.DataFrame:
    return pd.DataFrame([vars(Row("D", line, x, x, value)) for line, x, value in rows])


def test_falls_and_rises():
    down = table(("A", 1, 0.3), ("A", 2, 0.1), ("B", 1, 0.4), ("B", 2, 0.2))
    assert verdicts.falls(down) == (
        True, "From the smallest to the largest number: A 0.300 to 0.100, B 0.400 to 0.200.",
    )  # fmt: skip
    assert not verdicts.rises(down)[0]
    assert not verdicts.falls(table(("A", 1, 0.3), ("A", 2, 0.1), ("B", 1, 0.2), ("B", 2, 0.3)))[0]


@pytest.mark.parametrize(("snh_error", "agrees"), [(0.1, True), (0.4, False)])
def test_snh_must_be_below_all_four(snh_error, agrees):
    lines = [("UG", 0.5), ("AG", 0.4), ("PrivTree", 0.3), ("DAWA", 0.2), ("Identity", 0.2)]
    told = table(
        *((line, 1, v) for line, v in [*lines, ("SNH", snh_error), ("Denoised grid", 0.1)])
    )
    found, sentence = verdicts.snh_wins(told)
    assert found is agrees
    assert f"in {int(agrees)} of 1 cases" in sentence
    assert "at 0.50 of the best of the four" in sentence


def test_a_u_has_its_least_inside():
    points = [("epsilon 0.2", 1, 0.3), ("epsilon 0.2", 2, 0.1), ("epsilon 0.2", 3, 0.2)]
    told = table(*points, ("ParamSelect, epsilon 0.2", 2, 0.105)).assign(epsilon=0.2)
    assert verdicts.u_shape(told)[0]
    assert "at ParamSelect's width 0.105" in verdicts.u_shape(told)[1]
    far = table(*points, ("ParamSelect, epsilon 0.2", 1.5, 0.2)).assign(epsilon=0.2)
    assert not verdicts.u_shape(far)[0]
    assert not verdicts.u_shape(told[told.x > 1])[0]


def test_a_figure_is_measured_drawn_and_told(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_COMPARED", ("ug", "identity"))
    places = {"Fargo": Place(snh.synthetic_points("fargo", 3_000))}
    found = figure("cardinality", places, quick=True)
    assert found.x.tolist() == [187, 750, 3_000] * 2
    assert found.line.tolist() == ["UG"] * 3 + ["Identity"] * 3
    again = figure("cardinality", places, quick=True)
    pd.testing.assert_frame_equal(found, again)
    axes = reproduction_figure(FIGURES["cardinality"], found).axes[0]
    assert [line.get_label() for line in axes.get_lines()] == ["UG", "Identity"]
    found.to_csv(tmp_path / "cardinality.csv", index=False)
    page = _page(tmp_path, True, ["Fargo"])
    assert "`snhkit reproduce --quick`" in page
    assert f"{found['value'][0]:.3f}" in page
    assert "| Impact of data cardinality | The error of all methods falls with n" in page


def test_an_interrupted_figure_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_COMPARED", ("ug", "identity"))
    places = {"Fargo": Place(snh.synthetic_points("fargo", 3_000))}
    whole = figure("cardinality", places, quick=True)
    measured, kept, calls = module._error, tmp_path / "points.jsonl", []

    def until_the_fourth(*args, **kwargs):
        calls.append(args)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return measured(*args, **kwargs)

    monkeypatch.setattr(module, "_error", until_the_fourth)
    with pytest.raises(KeyboardInterrupt):
        figure("cardinality", places, quick=True, out=kept)
    again = figure("cardinality", places, quick=True, out=kept)
    assert len(calls) == 4 + 3
    pd.testing.assert_frame_equal(again, whole, check_exact=True)
    pd.testing.assert_frame_equal(figure("cardinality", places, quick=True, out=kept), whole)
    assert len(calls) == 4 + 3
    with pytest.raises(InputError, match="begun with other settings"):
        figure("k", places, quick=True, out=kept)


def test_an_unknown_figure_is_refused():
    with pytest.raises(InputError, match="there is no figure 'x'; there are budget"):
        figure("x", {}, quick=True)
