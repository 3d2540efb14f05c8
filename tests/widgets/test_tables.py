import re

import numpy as np
import pandas as pd
import pytest

from snhkit.geometry import RangeQueries, Region
from snhkit.privacy import Ledger, PrivacyUnit
from snhkit.widgets.session import Day
from snhkit.widgets.tables import answers_table, cards, districts_table, ledger_panel

CITY = Region.around(lat=37.76, lon=-122.43, side_m=10_000)
BOXES = RangeQueries(CITY, [0, 9_500], [0, 100], [1_000, 1_000], [2_500, 50])
UG = pd.DataFrame({"count": [1234.56, -0.04], "low": [1_220.04, 0], "high": [1_250.26, 3.5]})
UG.attrs["intervals"] = "It contains the true count in about 90 % of cases."
SNH = pd.DataFrame({"count": [5, 6.5], "low": np.nan, "high": np.nan})
SNH.attrs["intervals"] = "The interval of SNH is not known: <why>."
NUMBERS = {"UG": UG.to_numpy(), "SNH": SNH.to_numpy()}
ONE = {"UG": NUMBERS["UG"]}


UNIT = PrivacyUnit("record")
TRUE = np.array([1240, 2000])


def cells(table: str) -> list[list[str]]:
    rows = re.findall(r"<tr>(.*?)</tr>", table)
    found = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in rows]
    return [[re.sub(r"<[^>]*>", "|", cell).strip("|") for cell in row] for row in found]


def test_a_row_a_box_and_a_column_a_release_with_what_is_known_of_the_error():
    table = answers_table(BOXES, {"UG": UG, "SNH": SNH}, unit=UNIT)
    assert cells(table) == [
        ["Box", "Size in metres", "UG", "SNH"],
        ["2", "1,000 × 50 (partly outside the region)", "0|0 to 4", "7|interval not known"],
        ["1", "1,000 × 2,500", "1,230|1,220 to 1,250", "5|interval not known"],
    ]
    assert table.count("not known: &lt;why&gt;.") == 3  # in two cells, and below the table
    assert "contains the true count in about 90 % of cases" in table
    assert "not known" not in answers_table(BOXES, {"UG": UG}, unit=UNIT)
    assert table.count('scope="col"') == 4
    assert table.count('scope="row"') == 2


def test_the_truth_is_there_only_if_given():
    assert "Truth" not in answers_table(BOXES, {"UG": UG}, unit=UNIT)
    head, second, first = cells(answers_table(BOXES, {"UG": UG}, unit=UNIT, truth=TRUE))
    assert head[2:] == ["Truth", "UG"]
    assert first[2:] == ["1,240", "1,230|1,220 to 1,250"]
    assert second[2:] == ["2,000", "0|0 to 4"]


def test_a_card_draws_the_day_of_its_box_on_one_scale():
    told = np.array([[[2.0, 1, 4]], [[8.0, 5, 10]], [[4.0, np.nan, np.nan]]])
    day = Day(["06", "07", "08"], told, np.array([[3], [5], [0]]))
    one = RangeQueries(CITY, [0], [0], [500], [500])
    (card,) = cards(one, ONE, unit=UNIT, days={"UG": day})
    (line,) = card["lines"]
    assert line["said"] == "most in 07: 8"
    assert line["ends"] == ["06", "08"]
    assert (line["top"], line["truth"]) == ("10", [0.3, 0.5, 0])
    assert line["places"] == [[0.2, 0.1, 0.4], [0.8, 0.5, 1], [0.4, 0.4, 0.4]]


def test_no_box_yet():
    assert 'colspan="3">No box yet' in answers_table(None, {"UG": UG}, unit=UNIT)


def test_districts_have_a_row_each_once_something_was_released():
    table = districts_table(["West", "<i>"], {"UG": UG}, unit=UNIT, truth=np.array([1240, 2000]))
    assert "<i>" not in table
    assert cells(table) == [
        ["District", "Truth", "UG"],
        ["West", "1,240", "1,230|1,220 to 1,250"],
        ["&lt;i&gt;", "2,000", "0|0 to 4"],
    ]
    assert "Released counts of each district" in table
    assert cells(districts_table(["West"], {}, unit=UNIT))[1:] == [["No release yet: press Build."]]


def test_names_are_text():
    assert "<i>" not in answers_table(None, {"<i>": UG}, unit=UNIT)
    ledger = Ledger(1)
    ledger.charge("0.5", "<i>")
    assert "<i>" not in ledger_panel(ledger)


def test_the_budget_is_a_bar_of_its_charges():
    ledger = Ledger(1)
    ledger.settle(ledger.charge("0.25", "UG"), [])
    ledger.fail(ledger.charge("0.5", "SNH"))
    pieces = re.findall(
        r'<span class="snhkit-(\w+)" style="flex-grow:([\d.]+)', ledger_panel(ledger)
    )
    assert pieces == [("settled", "0.2500"), ("failed", "0.5000"), ("left", "0.2500")]
    assert "0.25 left" in ledger_panel(ledger)
    ledger.charge("0.25", "AG")
    assert "nothing left: further builds are refused" in ledger_panel(ledger)


def test_boxes_of_other_sizes_than_those_built_for_are_marked():
    rows = cells(answers_table(BOXES, {}, unit=UNIT, sizes_m=(40, 2_600)))[1:]
    assert [row[1] for row in rows] == ["1,000 × 50 (partly outside the region)", "1,000 × 2,500"]
    rows = cells(answers_table(BOXES, {}, unit=UNIT, sizes_m=(25, 100)))[1:]
    assert rows[1][1] == "1,000 × 2,500|not 25 to 100 m"


def test_a_bound_on_a_persons_records_is_said_beside_the_counts():
    unit = PrivacyUnit("user", max_per_user=5)
    boxes = answers_table(BOXES, {"UG": UG}, unit=unit)
    for table in (boxes, districts_table(["W", "E"], {"UG": UG}, unit=unit)):
        assert "records, at most 5 of one person" in table
        assert "how many were left out was not measured" in table
    assert "at most" not in answers_table(BOXES, {"UG": UG}, unit=UNIT)
    assert cards(BOXES, ONE, unit)[0]["counted"] == "records, at most 5 of one person"
    assert "counted" not in cards(BOXES, ONE, UNIT)[0]


def test_a_card_has_all_counts_of_its_box_on_one_scale():
    first, second = cards(BOXES, NUMBERS, UNIT, TRUE)
    assert (first["number"], first["size"], first["truth"]) == ("Box 1", "1,000 × 2,500 m", "1,240")
    name, count, interval, _, at, low, high = first["rows"][0]
    assert (name, count, interval) == ("UG", "1,230", "1,220 to 1,250")
    top = 1_250.26  # the largest of counts, intervals and the truth
    assert [at, low, high] == pytest.approx([1234.56 / top, 1220.04 / top, 1], abs=1e-4)
    assert first["true"] == pytest.approx(1240 / top, abs=1e-4)
    assert second["rows"][0][1:3] == ["0", "0 to 4"]
    assert first["rows"][1][2] == ""  # an interval that is not known
    below = cards(BOXES, {"UG": np.full((2, 3), -5.0)}, UNIT)[0]["rows"][0]
    assert below[-3:] == [0, 0, 0]
    assert "truth" not in cards(BOXES, ONE, UNIT)[0]
    assert cards(None, ONE, UNIT) == cards(BOXES, {}, UNIT) == []
