"""Quizzes: what is asked, and what learning platforms read back."""

import re
from xml.etree import ElementTree

import pytest

from snhkit.teaching.copies import lectures, options, quiz_page, quizzes, unfolded
from snhkit.teaching.quizzes import moodle_xml, qti_xml

MODELS = {
    "questestinterop": "assessment ",
    "assessment": "section ",
    "section": "(item )+",
    "item": "presentation resprocessing (itemfeedback )*",
    "presentation": "(material |response_lid )+",
    "response_lid": "(material )?render_choice (material )?",
    "render_choice": "(material |response_label )*",
    "response_label": "(material )*",
    "material": "(mattext )+",
    "resprocessing": "outcomes (respcondition )+",
    "outcomes": "(decvar )+",
    "respcondition": "conditionvar (setvar )*(displayfeedback )*",
    "conditionvar": "(varequal |other )+",
    "itemfeedback": "(material )+",
}
"""What elements of QTI 1.2.1 may contain, of what is used here; all others contain no element."""

LINE = re.compile(r"^- \*\*(.)\*\* (.*)$", re.MULTILINE)

every_quiz = pytest.mark.parametrize("name", quizzes())


def test_every_lecture_has_a_quiz():
    assert list(quizzes()) == [path.stem for path in lectures()]


@every_quiz
def test_a_quiz_has_ten_questions_with_three_options_and_a_reason(name):
    quiz = quizzes()[name]
    assert len(quiz["question"]) == 10
    for question in quiz["question"]:
        assert len(set(options(question))) == 3
        assert question["asks"].endswith(("?", ".", ":"))
        assert len(question["why"].split()) >= 5


def test_every_wrong_option_has_a_reason_of_its_own():
    asked = [question for quiz in quizzes().values() for question in quiz["question"]]
    told = [reason for question in asked for reason in [*question["wrong"].values()]]
    assert len(set(told)) == len(told) == 320
    assert all(len(reason.split()) >= 5 and reason.endswith(".") for reason in told)


def test_the_right_option_has_no_fixed_place():
    asked = [question for quiz in quizzes().values() for question in quiz["question"]]
    places = [options(question).index(question["right"]) for question in asked]
    assert min(map(places.count, range(3))) > 30


@every_quiz
def test_a_page_names_the_right_option_in_its_folded_part_only(name):
    quiz = quizzes()[name]
    page = quiz_page(quiz)
    for question, part in zip(quiz["question"], page.split("\n\n**")[1:], strict=True):
        offered, told = (dict(LINE.findall(text)) for text in part.split("<details>"))
        answers = question["wrong"] | {question["right"]: f"**Right.** {question['why']}"}
        assert {offered[letter]: text for letter, text in told.items()} == answers
        assert not any(text in unfolded(page) for text in told.values())


@every_quiz
def test_moodle_reads_back_questions_right_answers_and_feedback(name):
    quiz = quizzes()[name]
    category, *asked = ElementTree.fromstring(moodle_xml(name, quiz))
    assert category.findtext("category/text") == f"$course$/top/{quiz['title']}"
    for element, question in zip(asked, quiz["question"], strict=True):
        answers = {a.findtext("text"): a.get("fraction") for a in element.iter("answer")}
        told = {a.findtext("text"): a.findtext("feedback/text") for a in element.iter("answer")}
        assert element.get("type") == "multichoice"
        assert element.findtext("questiontext/text") == question["asks"]
        assert element.findtext("generalfeedback/text") == question["why"]
        assert answers == dict.fromkeys(question["wrong"], "0") | {question["right"]: "100"}
        assert told == question["wrong"] | {question["right"]: None}


@every_quiz
def test_qti_reads_back_questions_right_answers_and_feedback(name):
    top = ElementTree.fromstring(qti_xml(name, quizzes()[name]))
    for element in top.iter():
        children = "".join(f"{child.tag} " for child in element)
        assert re.fullmatch(MODELS.get(element.tag, ""), children), element.tag
    for item, question in zip(top.iter("item"), quizzes()[name]["question"], strict=True):
        labels = {
            x.get("ident"): x.findtext("material/mattext") for x in item.iter("response_label")
        }
        assert sorted(labels.values()) == sorted([question["right"], *question["wrong"]])
        assert item.findtext("presentation/material/mattext") == question["asks"]
        told = {x.get("ident"): x.findtext("material/mattext") for x in item.iter("itemfeedback")}
        choice = item.find(".//response_lid").get("ident")
        for condition in item.iter("respcondition"):
            chosen = condition.find("conditionvar/varequal")
            option = labels.pop(chosen.text)
            right = option == question["right"]
            shown = [told[x.get("linkrefid")] for x in condition.iter("displayfeedback")]
            assert chosen.get("respident") == choice
            assert condition.findtext("setvar") == ("1" if right else None)
            assert shown == [*([] if right else [question["wrong"][option]]), question["why"]]
        assert labels == {}
