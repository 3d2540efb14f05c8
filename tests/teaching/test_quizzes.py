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


def test_the_right_option_has_no_fixed_place():
    asked = [question for quiz in quizzes().values() for question in quiz["question"]]
    places = [options(question).index(question["right"]) for question in asked]
    assert min(map(places.count, range(3))) > 30


@every_quiz
def test_a_page_names_the_right_option_in_its_folded_part_only(name):
    quiz = quizzes()[name]
    page = quiz_page(quiz)
    answers = re.findall(r"</summary>\n\n\*\*(.)\*\* (.*)\n", page)
    for (letter, why), question in zip(answers, quiz["question"], strict=True):
        assert f"- **{letter}** {question['right']}\n" in page
        assert why == question["why"]
        assert why not in unfolded(page)


@every_quiz
def test_moodle_reads_back_questions_right_answers_and_feedback(name):
    quiz = quizzes()[name]
    category, *asked = ElementTree.fromstring(moodle_xml(name, quiz))
    assert category.findtext("category/text") == f"$course$/top/{quiz['title']}"
    for element, question in zip(asked, quiz["question"], strict=True):
        answers = {a.findtext("text"): a.get("fraction") for a in element.iter("answer")}
        assert element.get("type") == "multichoice"
        assert element.findtext("questiontext/text") == question["asks"]
        assert element.findtext("generalfeedback/text") == question["why"]
        assert answers == dict.fromkeys(question["wrong"], "0") | {question["right"]: "100"}


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
        (right,) = item.iter("varequal")
        assert right.get("respident") == item.find(".//response_lid").get("ident")
        assert labels[right.text] == question["right"]
        assert item.findtext("presentation/material/mattext") == question["asks"]
        assert item.findtext("itemfeedback/material/mattext") == question["why"]
        shown = item.find(".//displayfeedback").get("linkrefid")
        assert shown == item.find("itemfeedback").get("ident")
