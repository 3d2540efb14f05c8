"""Functions of the command line that print text and write files."""

import contextlib
import os
import sys
import textwrap
from pathlib import Path

import click

from snhkit.errors import InputError, printable
from snhkit.files import write_whole

STANDARD_OUTPUT = Path("-")
"""The path ``-``, which stands for standard output."""

_COLUMNS = 80


def say(text: str = "", *, err: bool = False) -> None:
    """Print lines of text, broken between words after 80 characters, without control characters."""
    lines = []
    for line in text.split("\n"):
        lines += textwrap.wrap(
            printable(line),  # it may hold the name of a file
            _COLUMNS,
            subsequent_indent=_indent(line),
            break_long_words=False,  # a path stays whole
            break_on_hyphens=False,
        ) or [""]
    _print("\n".join(lines) + "\n", err=err)


def write(path: Path, content: bytes | str) -> None:
    """Write content to a file, or to standard output if the path is ``-``."""
    if path == STANDARD_OUTPUT:
        # A redirected output has the same bytes as a file, whatever the encoding of the console.
        if isinstance(content, str) and not sys.stdout.isatty():
            content = content.encode()
        _print(content)
    else:
        write_whole(path, content)


def _print(content: bytes | str, *, err: bool = False) -> None:
    try:
        click.echo(content, nl=False, err=err)
    except OSError as error:
        _drop_standard_output()
        raise InputError(f"standard output: cannot be written ({error.strerror}).") from None


def _drop_standard_output() -> None:
    """Point standard output at the null device, so that Python's exit does not fail again."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _indent(line: str) -> str:
    """Return the width, as spaces, of a first column of at most 11 characters; else nothing."""
    head, gap, _ = line.partition("  ")
    return " " * (len(line) - len(line[len(head) :].lstrip())) if gap and len(head) < 12 else ""
