"""The paper's figures measured again: their points, verdicts and page."""

from dataclasses import replace

import pandas as pd
import pytest
from matplotlib.patches import Rectangle

import snhkit as snh
from snhkit.cli.reproduce import _page, _table
from snhkit.errors import InputError
from snhkit.experiment import Place
from snhkit.reproduction import figures as module
from snhkit.reproduction import verdicts
from snhkit.reproduction.figures import FIGURES, Job, figure, reproduction_figure


def table(*rows: tuple[str, float, float]) -> pd.DataFrame:
    return pd.DataFrame(
        [{"data": "D", "line": line, "x": x, "epsilon": x, "value": v} for line, x, v in rows]
    )


def test_falls_and_rises():
    down = table(("A", 1, 0.3), ("A", 2, 0.1), ("B", 1, 0.4), ("B", 2, 0.2))
    assert verdicts.falls(down) == (
        True,
        "Errors at the left and the right end of the axis: A 0.300 and 0.100, B 0.400 and 0.200.",
    )  # fmt: skip
    assert not verdicts.rises(down)[0]
    assert not verdicts.falls(table(("A", 1, 0.3), ("A", 2, 0.1), ("B", 1, 0.2), ("B", 2, 0.3)))[0]


@pytest.mark.parametrize(("snh_error", "agrees"), [(0.1, True), (0.4, False)])
def test_snh_must_be_below_all_four(snh_error, agrees):
    lines = [("UG", 0.5), ("AG", 0.4), ("PrivTree", 0.3), ("DAWA", 0.2), ("Identity", 0.2)]
    told = table(
        *((line, 1, v) for line, v in [*lines, ("SNH", snh_error), ("Denoised grid", 0.1),
                                       (verdicts.PAPERS_NETWORK, 0.3)])
    )  # fmt: skip
    found, sentence = verdicts.snh_wins(told)
    assert found is agrees
    assert ("in 1 of 1 cases, and" if agrees else "in 0 of 1 cases (not D at 1), and") in sentence
    assert "denoised grid 0.50, the paper's network after short training 1.50." in sentence


def test_the_number_of_records_must_help_and_snh_be_least():
    others = [(line, x, 0.6 / x) for line in ("UG", "AG", "PrivTree", "DAWA") for x in (1, 2)]
    good = table(*others, ("SNH", 1, 0.5), ("SNH", 2, 0.2))
    agrees, told = verdicts.falls_and_snh_least(good)
    assert agrees
    assert told.endswith("of UG, AG, PrivTree and DAWA at 2 of 2 numbers of records.")
    assert not verdicts.falls_and_snh_least(table(*others, ("SNH", 1, 0.7), ("SNH", 2, 0.2)))[0]
    assert not verdicts.falls_and_snh_least(
        table(*others[2:], ("UG", 1, 0.25), ("UG", 2, 0.1), ("SNH", 1, 0.3), ("SNH", 2, 0.2))
    )[0]  # SNH is below three of the four
    assert not verdicts.falls_and_snh_least(table(*others, ("SNH", 1, 0.1), ("SNH", 2, 0.2)))[0]


def test_depth_must_help_at_each_epsilon_but_not_without_end():
    good = [("epsilon 0.2", 2, 0.3), ("epsilon 0.2", 5, 0.1), ("epsilon 0.2", 20, 0.4)]
    assert verdicts.deeper_helps(table(*good)) == (
        True, "Error by number of layers: epsilon 0.2: 0.300 at 2, 0.100 at 5, 0.400 at 20.",
    )  # fmt: skip
    worse = [("epsilon 0.8", 2, 0.1), ("epsilon 0.8", 5, 0.2)]
    endless = [("epsilon 0.8", 2, 0.2), ("epsilon 0.8", 5, 0.1)]
    assert not verdicts.deeper_helps(table(*good, *worse))[0]
    assert not verdicts.deeper_helps(table(*good, *endless))[0]


def test_a_u_has_its_least_inside():
    points = [("epsilon 0.2", 1, 0.3), ("epsilon 0.2", 2, 0.1), ("epsilon 0.2", 3, 0.2)]
    told = table(*points, ("ParamSelect, epsilon 0.2", 2, 0.105)).assign(epsilon=0.2)
    assert verdicts.u_shape(told)[0]
    assert "0.105 with ParamSelect's" in verdicts.u_shape(told)[1]
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
    pd.testing.assert_frame_equal(found.drop(columns="cpu_s"), again.drop(columns="cpu_s"))
    axes = reproduction_figure(FIGURES["cardinality"], found).axes[0]
    assert [line.get_label() for line in axes.get_lines()] == ["UG", "Identity"]
    (tmp_path / "figures").mkdir()
    found.to_csv(_table(tmp_path, "cardinality"), index=False)
    told = replace(FIGURES["cardinality"], judge=verdicts.falls)
    monkeypatch.setitem(FIGURES, "cardinality", told)
    page = _page(tmp_path, True, ["Fargo"])
    assert "`snhkit reproduce --quick`" in page
    assert f"{found['value'][0]:.3f}" in page
    assert "| Impact of data cardinality | The error of all methods falls as n grows" in page


@pytest.mark.parametrize(("last", "agrees"), [(0.29, False), (0.26, True)])
def test_more_networks_help_if_they_take_a_tenth_off_the_error(last, agrees):
    found, _ = verdicts.more_networks_help(table(("k", 1, 0.3), ("k", 8, last)).assign(epsilon=0.8))
    assert found is agrees


def test_two_lines_of_one_method_look_different():
    two = module._styles(table(("SNH@UG", 1, 1), ("SNH@ParamSelect", 1, 1)))
    assert two["SNH@UG"] != two["SNH@ParamSelect"]
    alone = module._styles(table(("PGM@ParamSelect", 1, 1), ("UG", 1, 1)))
    assert alone["PGM@ParamSelect"] == module.method_styles(["PGM"])["PGM"]


def test_an_unknown_figure_is_refused():
    with pytest.raises(InputError, match="there is no figure 'x'; the figures are budget"):
        figure("x", {}, quick=True)


def test_an_interrupted_figure_continues_where_it_stopped(tmp_path, monkeypatch):
    done = []

    def jobs(places, effort):
        def measure(x):
            if len(done) == 2:
                done.append(None)
                raise KeyboardInterrupt
            done.append(x)
            return x / 3

        return [Job("Fargo", "UG", x, "0.2", lambda x=x: measure(x)) for x in (1, 2, 3)]

    monkeypatch.setitem(FIGURES, "k", replace(FIGURES["k"], measure=jobs))
    places = {"Fargo": Place(snh.synthetic_points("fargo", 100))}
    file = tmp_path / "points.jsonl"
    with pytest.raises(KeyboardInterrupt):
        figure("k", places, quick=True, file=file)
    resumed = figure("k", places, quick=True, file=file)
    assert done == [1, 2, None, 3]
    whole = figure("k", places, quick=True)
    pd.testing.assert_frame_equal(resumed.drop(columns="cpu_s"), whole.drop(columns="cpu_s"))
    pd.testing.assert_frame_equal(figure("k", places, quick=True, file=file), resumed)
    # Other records, and more effort, are measured anew.
    other = {"Fargo": Place(snh.synthetic_points("fargo", 101))}
    before = len(done)
    figure("k", other, quick=True, file=file)
    figure("k", places, quick=False, file=file)
    assert len(done) == before + 6


def test_costs_are_bars_of_three_panels():
    told = FIGURES["costs"]
    drawn = reproduction_figure(told, table(*(("SNH", x, 1 + x) for x in range(3))))
    assert [axis.get_title() for axis in drawn.axes] == list(told.parts)
    heights = [bar.get_height() for axis in drawn.axes for bar in axis.patches
               if isinstance(bar, Rectangle)]  # fmt: skip
    assert heights == [1, 2, 3]


def test_a_no_says_why():
    down = [("epsilon 0.2", 1, 0.3), ("epsilon 0.2", 2, 0.1)]
    equal = [(line, 1, 0.3) for line in ("SNH", "Identity@ParamSelect", "PGM@ParamSelect")]
    far = table(*down, ("ParamSelect, epsilon 0.2", 1, 0.3)).assign(epsilon=0.2)
    for judge, points, why in (
        (verdicts.rises, table(*down), "the counts grow faster than the noise"),
        (verdicts.snh_least, table(*equal), "At equal width"),
        (verdicts.u_shape, far, "ParamSelect knows only n"),
        (verdicts.deeper_helps, table(*down), "few steps"),
        (
            verdicts.more_networks_help,
            table(*down[::-1], ("B", 1, 1), ("B", 2, 2)),
            "share one map",
        ),
    ):
        agrees, told = judge(points)
        assert not agrees
        assert why in told
