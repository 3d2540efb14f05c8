"""The commands for a class: ``course`` writes lectures, quizzes and slides, ``story`` one page."""

import json
import secrets
import shutil
from pathlib import Path

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
    "--teacher",
    is_flag=True,
    help="Write solutions, answers and assignments for graders too; needs a checkout of snhkit.",
)
@click.option(
    "--key",
    help="Key of the class, from which students' numbers in assignments follow; with --teacher "
    "[default: drawn anew].",
)
@click.option("--slides", is_flag=True, help="Write slides too; runs every lecture (minutes).")
@click.option("--handouts", is_flag=True, help="Write handouts too; runs every lecture (minutes).")
@click.option(
    "--lecture",
    "chosen",
    multiple=True,
    help="Lecture to write, such as 02; repeat the option for several [default: all].",
)
@click.pass_context
def course(context, out, teacher, key, slides, handouts, chosen) -> None:
    """Write the lectures for a class: for students and, with --teacher, for teachers and graders.

    The folder "students" has notebooks with empty exercises, quizzes without answers, and the
    assignment for "snhkit course league". With --teacher, the folder "teachers" has notebooks with
    solutions, quizzes with answers, also for Moodle (.moodle.xml) and in QTI 1.2 (.qti.xml), and
    the league's rubric with eight hand-ins as a sample; the folder "nbgrader" is a course for
    nbgrader, with one assignment for each lecture, and "otter" has the same for otter-grader. Their
    hidden tests have inputs that are drawn anew each time; exercises that ask for a number have
    other numbers for each student. With --slides, the folder "slides" has
    one HTML page for each lecture, which can be shown without a network; with --handouts, the
    folder "handouts" has two pages of each as a PDF, which needs Chromium.
    """
    if context.invoked_subcommand:
        return
    if out is None:
        raise click.UsageError("Missing option '--out'.")
    from snhkit.teaching import copies

    notebooks = _chosen(copies.lectures(), chosen)
    if out.exists() and any(out.iterdir()):
        raise InputError(f"{out} is not empty: give a new folder, so that nothing is replaced.")
    stems = {path.stem for path in notebooks}
    source = copies.checkout()
    if teacher and source is None:
        raise InputError(
            "Solutions are not part of the installed package. Get the source of snhkit, run "
            "pip install -e . in its folder, and repeat the command."
        )
    for name, text in copies.students_files().items():
        if Path(name).stem in stems or not chosen:
            _write(out / "students" / name, text)
    if teacher and source is not None:
        _write_for_teachers(source, stems, out, key or secrets.token_hex(8))
        if not chosen:
            shutil.copytree(source / "league", out / "teachers" / "league", ignore=_NO_CACHE)
    click.echo(f"{len(notebooks)} lectures are in {out}.")
    if slides or handouts:
        _write_pages(notebooks, out, slides, handouts)


def _write_for_teachers(source: Path, stems: set[str], out: Path, key: str) -> None:
    """Write solutions, quizzes with answers, and assignments for nbgrader and otter-grader."""
    from snhkit.teaching import copies
    from snhkit.teaching.quizzes import moodle_xml, qti_xml

    for stem in sorted(stems):
        lecture = json.loads((source / f"{stem}.ipynb").read_text(encoding="utf-8"))
        for name, made in (
            (f"teachers/{stem}.ipynb", copies.with_solutions(lecture)),
            (f"nbgrader/source/{stem}/{stem}.ipynb", copies.for_nbgrader(lecture, key)),
            (f"otter/{stem}.ipynb", copies.for_otter(lecture, key)),
        ):
            _write(out / name, copies.written(made))
        quiz, folder = copies.quizzes()[stem], out / "teachers" / "quizzes"
        _write(folder / f"{stem}.md", copies.quiz_page(quiz))
        _write(folder / f"{stem}.moodle.xml", moodle_xml(stem, quiz))
        _write(folder / f"{stem}.qti.xml", qti_xml(stem, quiz))
    _write(out / "nbgrader" / "nbgrader_config.py", copies.NBGRADER_CONFIG)


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
      snhkit course --teacher --out class
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


def _write_pages(notebooks: list[Path], out: Path, slides: bool, handouts: bool) -> None:
    """Run each lecture, and write its slides as an HTML page, its handout as a PDF."""
    from tqdm.auto import tqdm

    from snhkit.teaching.copies import without_solutions

    try:
        from snhkit.teaching.handouts import handout_pdf
        from snhkit.teaching.kernels import run
        from snhkit.teaching.slides import slides as page_of
    except ImportError:
        raise InputError(
            'Slides and handouts need nbconvert: pip install "snhkit[course]".'
        ) from None

    for path in tqdm(notebooks, "pages", unit="lecture", leave=False, disable=None):
        done = run(without_solutions(json.loads(path.read_text(encoding="utf-8"))))
        if slides:
            _write(out / "slides" / f"{path.stem}.html", page_of(done))
        if handouts:
            _write(out / "handouts" / f"{path.stem}.pdf", handout_pdf(done))
    for name, wanted in (("slides", slides), ("handouts", handouts)):
        if wanted:
            click.echo(f"{len(notebooks)} files are in {out / name}.")


def _write(path: Path, content: bytes | str) -> None:
    from snhkit.files import write_whole

    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, content)


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
