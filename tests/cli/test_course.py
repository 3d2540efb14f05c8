"""``snhkit course``: copies for students and teachers, quizzes and slides."""

import json
import re
from importlib import import_module

import nbformat
import pytest
from click.testing import CliRunner

from snhkit.cli.main import app
from snhkit.errors import InputError
from snhkit.teaching import copies
from snhkit.teaching.copies import lectures, quizzes, without_solutions


def invoke(*words):
    done = CliRunner().invoke(app, ["course", *map(str, words)])
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.output


def test_students_get_empty_cells_teachers_solutions_and_nbgrader_both(tmp_path):
    assert f"{len(lectures())} lectures" in invoke("--teacher", "--out", tmp_path / "class")
    for path in lectures():
        given, solved = (
            nbformat.read(tmp_path / "class" / who / path.name, as_version=4)
            for who in ("students", "teachers")
        )
        nbformat.validate(given)
        nbformat.validate(solved)
        assert "<details" not in json.dumps(given)
        empty = [c for c in given.cells if "exercise" in c.metadata.get("tags", [])]
        filled = [c for c in solved.cells if "exercise" in c.metadata.get("tags", [])]
        assert len(empty) == len(filled) >= 2
        assert all("..." in c.source and "SOLUTION" not in c.source for c in empty)
        assert all("SOLUTION" not in c.source for c in filled)
        source = tmp_path / "class" / "nbgrader" / "source" / path.stem / path.name
        both = nbformat.read(source, as_version=4)
        nbformat.validate(both)
        marked = [c.source for c in both.cells if "exercise" in c.metadata.get("tags", [])]
        for cell, stub, solution in zip(marked, empty, filled, strict=True):
            marks = f"### BEGIN SOLUTION\n{solution.source}\n### END SOLUTION"
            assert cell == f"{stub.source}\n{marks}"
    teachers = tmp_path / "class" / "teachers" / "league"
    assert "mechanism" in (tmp_path / "class" / "students" / "league.txt").read_text("utf-8")
    assert "20 points" in (teachers / "rubric.txt").read_text("utf-8")
    codes, releases = (sorted((teachers / "sample").glob(f"*/*{end}")) for end in (".py", ".snh"))
    assert (len(codes), len(releases)) == (8, 5)
    assert list(quizzes()) == [path.stem for path in lectures()]
    for stem in quizzes():
        students = (tmp_path / f"class/students/quizzes/{stem}.md").read_text("utf-8")
        assert "<details" not in students
        written = sorted((tmp_path / "class" / "teachers" / "quizzes").glob(f"{stem}.*"))
        assert [path.name.removeprefix(stem) for path in written] == [
            ".md", ".moodle.xml", ".qti.xml",
        ]  # fmt: skip
        assert "<details" in written[0].read_text("utf-8")


def test_numbers_of_students_follow_from_the_key_or_from_one_that_is_drawn(tmp_path):
    keys = []
    for number, words in enumerate((("--key", "our key"), (), ())):
        invoke("--teacher", "--lecture", "00", "--out", tmp_path / f"{number}", *words)
        stem = lectures()[0].stem
        for path in (f"nbgrader/source/{stem}/{stem}.ipynb", f"otter/{stem}.ipynb"):
            text = (tmp_path / f"{number}" / path).read_text("utf-8")
            keys.append(set(re.findall(r"own_numbers\('00-hidden', '(.*?)', STUDENT\)", text)))
    assert keys[:2] == [{"our key"}] * 2
    assert keys[2] == keys[3] != keys[4] == keys[5]


def test_without_teacher_nothing_for_teachers_is_written(tmp_path):
    invoke("--out", tmp_path / "class", "--lecture", "02")
    written = [p.relative_to(tmp_path / "class") for p in (tmp_path / "class").rglob("*.*")]
    assert {p.parts[0] for p in written} == {"students"}
    stems = ("02_privacy_by_hand", "02b_three_attacks")
    assert sorted(p.name for p in written) == [s + end for s in stems for end in (".ipynb", ".md")]


def test_an_installed_package_has_the_students_files_only(tmp_path, monkeypatch):
    expected = copies.students_files()
    for name, text in expected.items():
        path = tmp_path / "installed" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    monkeypatch.setattr(copies, "_INSTALLED", tmp_path / "installed")
    invoke("--out", tmp_path / "class")
    written = {
        p.relative_to(tmp_path / "class" / "students").as_posix(): p.read_text("utf-8")
        for p in (tmp_path / "class").rglob("*.*")
    }
    assert written == expected
    with pytest.raises(InputError, match="not part of the installed package"):
        invoke("--teacher", "--out", tmp_path / "other")


def test_the_league_of_a_folder_needs_a_key_and_hand_ins(tmp_path):
    assert "Missing option '--key'" in invoke("league", tmp_path)
    assert "Missing option '--out'" in invoke()
    with pytest.raises(InputError, match="holds no folder"):
        invoke("league", tmp_path, "--key", "k")
    (tmp_path / "ada").mkdir()
    printed = invoke("league", tmp_path, "--key", "k")
    assert "ada: not scored: it has 0 Python files" in printed
    assert "What could not be checked" in printed


def test_the_league_gets_what_was_typed(tmp_path, monkeypatch):
    seen = []
    module = import_module("snhkit.teaching.league")
    monkeypatch.setattr(module, "league", lambda *given, **limits: seen.append((given, limits)))
    invoke("league", tmp_path, "--key", "k", "--runs", 40, "--seconds", 9)
    assert seen == [((tmp_path, "k"), {"runs": 40, "seconds": 9})]


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ((), "shipped"), (("--anew",), "made san_francisco"), (("--city", "fargo"), "made fargo"),
    ],
)  # fmt: skip
def test_the_story_of_the_default_city_is_shipped(words, shown, tmp_path, monkeypatch):
    from snhkit.viz.reports import story, story_data

    monkeypatch.setattr(story, "shipped_story", lambda: "shipped")
    monkeypatch.setattr(story, "story_html", lambda data: data)
    monkeypatch.setattr(story_data, "make_story", lambda key: f"made {key}")
    CliRunner().invoke(app, ["story", "--out", str(tmp_path / "s.html"), *words])
    assert (tmp_path / "s.html").read_text() == shown


def test_a_folder_in_use_and_an_unknown_lecture_are_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match="is not empty"):
        invoke("--out", tmp_path)
    with pytest.raises(InputError, match="no lecture '77'"):
        invoke("--out", tmp_path / "new", "--lecture", "77")
    assert [p.name for p in tmp_path.iterdir()] == ["notes.txt"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*(zmq|socket|event loop):ResourceWarning")
def test_slides_of_a_lecture_have_its_pictures(tmp_path):
    assert "slides" in invoke("--out", tmp_path / "class", "--slides", "--lecture", "09")
    (page,) = (tmp_path / "class" / "slides").glob("*.html")
    assert page.read_text("utf-8").count("data:image/png") >= 2


def test_lectures_on_theory_have_problems_whose_solutions_students_do_not_get():
    for path in lectures():
        lecture = json.loads(path.read_text("utf-8"))
        asked = [c for c in lecture["cells"] if "".join(c["source"]).count("**Problem ")]
        assert len(asked) == (2 if path.stem >= "12" else 0)
        kept = {c["id"]: c["source"] for c in without_solutions(lecture)["cells"]}
        for cell in asked:
            solution = "".join(cell["source"]).split("<summary>Solution</summary>")[1]
            assert len(solution.split()) > 40
            assert "Solution" not in kept[cell["id"]]
            assert solution.split("\n\n")[1] not in kept[cell["id"]]
