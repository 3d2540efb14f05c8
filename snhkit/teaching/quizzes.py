"""Quizzes as XML for learning platforms: Moodle's format, and QTI 1.2."""

from typing import Any
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from snhkit.teaching.copies import options


def moodle_xml(name: str, quiz: dict[str, Any]) -> str:
    """Return a quiz as a Moodle question bank, in a category of its own."""
    bank = Element("quiz")
    category = SubElement(_add(bank, "question", type="category"), "category")
    _add(category, "text", f"$course$/top/{quiz['title']}")
    for number, question in enumerate(quiz["question"], 1):
        asked = _add(bank, "question", type="multichoice")
        _add(_add(asked, "name"), "text", f"{name} {number:02}")
        for part, text in (("questiontext", "asks"), ("generalfeedback", "why")):
            _add(_add(asked, part, format="plain_text"), "text", question[text])
        for key, value in (("defaultgrade", "1"), ("single", "true"), ("shuffleanswers", "true")):
            _add(asked, key, value)
        for option in options(question):
            fraction = "100" if option == question["right"] else "0"
            answer = _add(asked, "answer", fraction=fraction, format="plain_text")
            _add(answer, "text", option)
            if told := question["wrong"].get(option):
                _add(_add(answer, "feedback", format="plain_text"), "text", told)
    return _text(bank)


def qti_xml(name: str, quiz: dict[str, Any]) -> str:
    """Return a quiz as an assessment in QTI 1.2, with feedback on each answer and the reason."""
    top = Element("questestinterop")
    assessment = _add(top, "assessment", ident=name, title=quiz["title"])
    section = _add(assessment, "section", ident=f"{name}-questions")
    for number, question in enumerate(quiz["question"], 1):
        item = _add(section, "item", ident=f"{name}-{number:02}", title=f"{name} {number:02}")
        shown = _add(item, "presentation")
        _material(shown, question["asks"])
        choice = _add(shown, "response_lid", ident="answer", rcardinality="Single")
        offered = _add(choice, "render_choice", shuffle="Yes")
        letters = dict(zip(options(question), "abcd", strict=False))
        for option, letter in letters.items():
            _material(_add(offered, "response_label", ident=letter), option)
        scoring = _add(item, "resprocessing")
        limits = {"vartype": "Decimal", "minvalue": "0", "maxvalue": "1", "defaultval": "0"}
        _add(_add(scoring, "outcomes"), "decvar", varname="SCORE", **limits)
        for option, letter in letters.items():
            chosen = _add(scoring, "respcondition")
            _add(_add(chosen, "conditionvar"), "varequal", letter, respident="answer")
            if option == question["right"]:
                _add(chosen, "setvar", "1", action="Set", varname="SCORE")
            for ident in [letter, "why"] if option in question["wrong"] else ["why"]:
                _add(chosen, "displayfeedback", feedbacktype="Response", linkrefid=ident)
        told = {letters[option]: text for option, text in question["wrong"].items()}
        for ident, text in (told | {"why": question["why"]}).items():
            _material(_add(item, "itemfeedback", ident=ident), text)
    return _text(top)


def _add(parent: Element, tag: str, text: str = "", **attributes: str) -> Element:
    child = SubElement(parent, tag, attributes)
    child.text = text or None
    return child


def _material(parent: Element, text: str) -> None:
    _add(_add(parent, "material"), "mattext", text, texttype="text/plain")


def _text(top: Element) -> str:
    indent(top)
    return tostring(top, encoding="unicode", xml_declaration=True) + "\n"
