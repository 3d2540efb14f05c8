"""The page holds what was released, and refers to nothing elsewhere."""

import re

import numpy as np
import pytest

import snhkit as snh
from snhkit.errors import InputError
from snhkit.markup import count_texts
from snhkit.release.estimates import Estimates
from snhkit.viz.reports.answers_report import answers_html


@pytest.fixture
def data(city):
    records = snh.Points(city, [[100, 100], [900, 500]])
    return snh.PrivateDataset(records, budget=5, unit="record", n_public=True)


@pytest.fixture
def releases(data):
    return {"<b>UG": data.release(snh.UniformGrid(), epsilon=1)}


def page(releases, boxes, data, **more):
    return answers_html(releases, boxes, data.ledger, title="A & B", about="Of a test.", **more)


@pytest.mark.parametrize(("count", "shown"), [(1234.56, "1,230"), (-0.6, "\u22121"), (-0.04, "0")])
def test_answers_with_their_errors_cards_ledger_and_code(
    city, data, releases, count, shown, monkeypatch
):
    boxes = snh.RangeQueries(city, [10], [20], [100], [50])
    monkeypatch.setattr(Estimates, "count", property(lambda self: np.full(len(self), count)))
    text = page(releases, boxes, data, code="a < b")
    (release,) = releases.values()
    low, high = release.interval(boxes)[0]
    told = f"{shown} ({count_texts(count, low, high)[1]})"
    assert f'<th scope="row">1</th><td>100 × 50</td><td>{told}</td>' in text
    for told in ("<title>A &amp; B</title>", "&lt;b&gt;UG, ε = 1", "a &lt; b", "spent 1, left 4"):
        assert told in text
    assert "UniformGrid" in text
    assert "role='alert'" not in text


def test_it_refers_to_nothing_elsewhere(data, releases):
    text = page(releases, None, data)
    assert "No box was drawn" in text
    inside = text.replace("&#x27;", "'").replace("&quot;", '"').replace("&lt;", "<")
    assert not re.search(r"""(\bsrc|<link[^>]*\bhref)\s*=\s*["']?(https?:)?//""", inside)
    assert not re.search(r"""url\(\s*["']?(https?:)?//""", inside)
    assert "@import" not in inside


def test_what_must_not_be_published_says_so(data):
    text = page({"Mine": data.release(snh.UniformGrid(), epsilon=1, seed=3)}, None, data)
    assert "role='alert'>Mine: replayable" in text


def test_nothing_released(data):
    with pytest.raises(InputError, match="not 0 releases"):
        page({}, None, data)


def test_a_map_of_one_release_speaks_of_no_choice(data, releases, city):
    (release,) = releases.values()
    assert "Choose a method" not in page(releases, None, data)
    assert "Choose a method" in page({"UG": release, "again": release}, None, data)
