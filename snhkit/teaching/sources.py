"""Paths of the lectures and quizzes, in the installed package or in the source tree."""

from pathlib import Path

__all__ = ["lectures", "quizzes"]

_PACKAGE = Path(__file__).parents[1]


def lectures() -> list[Path]:
    """Return the paths of the course's notebooks, in order."""
    return sorted(_folder().glob("*.ipynb"))


def quizzes() -> list[Path]:
    """Return the paths of the quizzes, Markdown files with folded answers, in lecture order."""
    return sorted((_folder() / "quizzes").glob("*.md"))


def _folder() -> Path:
    installed = _PACKAGE / "_notebooks"
    return installed if installed.is_dir() else _PACKAGE.parent / "notebooks"
