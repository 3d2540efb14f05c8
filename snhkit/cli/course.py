"""The commands for a class: ``course`` writes lectures, quizzes and slides, ``story`` one page."""

import json
import shutil
from pathlib import Path
from typing import Any

import click

from snhkit.cli.output import say, write
from snhkit.cli.types import OutputFile
from snhkit.errors import InputError

_NO_CACHE = shutil.ignore_patterns("__pycache__")


@click.group(invoke_without_command=True)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder to write, new or empty.",
)
@click.option(
    "--without-solutions",
    is_flag=True,
    help="Write the folder for students only, not those for teachers and graders.",
)
@click.option("--slides", is_flag=True, help="Write slides too; runs every lecture (minutes).")
@click.option(
    "--lecture",
    "chosen",
    multiple=True,
    help="Lecture to write, such as 02; repeat the option for several [default: all].",
)
@click.pass_context
def course(context, out, without_solutions, slides, chosen) -> None:
    """Write the lectures for a class: for students, for teachers and, with --slides, as slides.

    The folder "students" has notebooks with empty exercises, and quizzes without answers. The
    folder "teachers" has notebooks with solutions, and quizzes with answers. The folder "nbgrader"
    is a course for nbgrader, with one assignment for each lecture, and "otter" has the same
    assignments for otter-grader. The folder "slides" has one HTML page for each lecture, which can
    be shown without a network. "students/league.txt" is the assignment for "snhkit course league";
    "teachers/league" has a rubric, and eight hand-ins as a sample.
    """
    if context.invoked_subcommand:
        return
    if out is None:
        raise click.UsageError("Missing option '--out'.")
    from snhkit.teaching import copies

    notebooks = _chosen(copies.lectures(), chosen)
    if out.exists() and any(out.iterdir()):
        raise InputError(f"{out} is not empty: give a new folder, so that nothing is replaced.")
    for path in notebooks:
        lecture = json.loads(path.read_text(encoding="utf-8"))
        _write(out / "students" / path.name, copies.without_solutions(lecture))
        if not without_solutions:
            _write(out / "teachers" / path.name, copies.with_solutions(lecture))
            assignment = out / "nbgrader" / "source" / path.stem / path.name
            _write(assignment, copies.for_nbgrader(lecture))
            _write(out / "otter" / path.name, copies.for_otter(lecture))
    if not without_solutions:
        _write_text(out / "nbgrader" / "nbgrader_config.py", copies.NBGRADER_CONFIG)
    stems = {path.stem for path in notebooks}
    for path in copies.quizzes():
        if path.stem in stems:
            text = path.read_text(encoding="utf-8")
            _write_text(out / "students" / "quizzes" / path.name, copies.unfolded(text))
            if not without_solutions:
                _write_text(out / "teachers" / "quizzes" / path.name, text)
    if not chosen:
        texts = copies.league_folder()
        task = (texts / "assignment.txt").read_text(encoding="utf-8")
        _write_text(out / "students" / "league.txt", task)
        if not without_solutions:
            shutil.copytree(texts, out / "teachers" / "league", ignore=_NO_CACHE)
    click.echo(f"{len(notebooks)} lectures are in {out}.")
    if slides:
        _write_slides(notebooks, out / "slides")


@course.command("league")
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--key", required=True, help="Key of the class, from which assignments follow.")
@click.option(
    "--runs",
    type=click.IntRange(20),
    default=2_000,
    show_default=True,
    help="Releases of each mechanism about each of three data sets.",
)
@click.option(
    "--seconds",
    type=click.IntRange(1),
    default=120,
    show_default=True,
    help="Computing time of each process.",
)
def league_(folder, key, runs, seconds) -> None:
    """Run the hand-ins in FOLDER, and print a league table of error and refutation.

    Each hand-in is a folder with the student's name, which holds one Python file with a mechanism,
    its release (.snh) and, in the same file, perhaps an attack on the mechanisms of others. Every
    mechanism is scored on boxes that nobody knew, audited and attacked. The code of hand-ins is
    run, in processes with limits; the table names the limits that this platform does not have.

    \b
    Example:
      snhkit course --out class
      snhkit course league class/teachers/league/sample --key sample
    """
    from snhkit.teaching.league import league

    say(str(league(folder, key, runs=runs, seconds=seconds)))


def _chosen(notebooks: list[Path], wanted: tuple[str, ...]) -> list[Path]:
    """Return the notebooks whose names begin with one of ``wanted``; all if ``wanted`` is empty."""
    for word in wanted:
        if not any(path.stem.startswith(word) for path in notebooks):
            known = ", ".join(path.stem for path in notebooks)
            raise InputError(f"There is no lecture {word!r}. The lectures are: {known}.")
    return [p for p in notebooks if not wanted or p.stem.startswith(wanted)]


def _write_slides(notebooks: list[Path], folder: Path) -> None:
    """Run each lecture, and write its slides as an HTML page into the folder."""
    from tqdm.auto import tqdm

    from snhkit.teaching.copies import without_solutions

    try:
        from snhkit.teaching.kernels import run
        from snhkit.teaching.slides import slides
    except ImportError:
        raise InputError('Slides need nbconvert: pip install "snhkit[course]".') from None

    for path in tqdm(notebooks, "slides", unit="lecture", leave=False, disable=None):
        lecture = json.loads(path.read_text(encoding="utf-8"))
        _write_text(folder / f"{path.stem}.html", slides(run(without_solutions(lecture))))
    click.echo(f"{len(notebooks)} pages of slides are in {folder}.")


def _write(path: Path, notebook: dict[str, Any]) -> None:
    _write_text(path, json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")


def _write_text(path: Path, text: str) -> None:
    from snhkit.files import write_whole

    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, text.encode())


@click.command()
@click.option("--city", default="san_francisco", show_default=True, help="Key of the city.")
@click.option(
    "--out", type=OutputFile(), required=True, help="The HTML file; - is standard output."
)
@click.option(
    "--anew", is_flag=True, help="Build the releases again, which takes minutes, also of the "
    "default city, whose releases are part of snhkit.",
)  # fmt: skip
@click.option("--force", is_flag=True, help="Replace an existing file of --out.")
def story(city, out, anew, force) -> None:
    """Write one HTML page that shows what epsilon does to a map of people.

    The page shows an invented city beside releases of it, with a slider for epsilon and a switch of
    methods; boxes that a reader draws are answered in the page. It needs no network and no Python.
    Noise comes from seeds, so the page is the same each time.

    \b
    Example:
      snhkit story --out story.html
    """
    if out.is_file() and not force:
        raise click.UsageError(f"{str(out)!r} exists; --force replaces it.")
    from snhkit.data import city as find_city
    from snhkit.viz.reports.story import SHIPPED, shipped_story, story_html
    from snhkit.viz.reports.story_data import make_story

    key = find_city(city).key
    data = shipped_story() if key == SHIPPED and not anew else make_story(key)
    page = story_html(data)
    write(out, page)
    say(f"Written to {out}: {len(page.encode()) / 1e6:.1f} MB, opens without a network.", err=True)
