"""Processes that compute for the kernels of visitors: answers, errors, Cancel, and an early end."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from fractions import Fraction

import pytest

from snhkit.cli.shared_worker import Line
from snhkit.errors import InputError
from snhkit.progress import watched

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="kernels are forked on Linux only"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
SERVE = (
    "import sys; from pathlib import Path; from snhkit.cli.shared_worker import keep_serving; "
    "keep_serving(Path(sys.argv[1])); print('serving', flush=True); sys.stdin.read()"
)


class StoppedError(Exception):
    pass


@pytest.fixture
def line(tmp_path) -> Iterator[Line]:
    at = tmp_path / "learn.sock"
    with subprocess.Popen(
        [sys.executable, "-c", SERVE, str(at)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as server:
        assert server.stdout.readline() == b"serving\n"
        yield Line(at)
        server.stdin.close()


def test_one_process_answers_many_calls(line):
    assert line(max, Fraction(1, 3), Fraction(1, 2)) == Fraction(1, 2)
    assert line(os.getpid) == line(os.getpid) != os.getpid()


def test_an_error_is_raised_where_the_call_was_made(line):
    with pytest.raises(ValueError, match="invalid literal"):
        line(int, "many")
    assert line(abs, -1) == 1


def test_cancel_ends_the_process_and_another_one_serves(line):
    before, began = line(os.getpid), time.monotonic()

    def watch(step):
        if time.monotonic() > began + 0.5:
            raise StoppedError

    with watched(watch), pytest.raises(StoppedError):
        line(time.sleep, 600)
    assert line(os.getpid) != before  # would wait for ten minutes


def test_who_waits_for_others_can_cancel(line):
    steps = []

    def watch(step):
        steps.append(step.what)
        if len(steps) > 2:
            raise StoppedError

    def ask_behind(step):
        with watched(watch), pytest.raises(StoppedError):
            line(abs, -1)
        raise StoppedError

    with watched(ask_behind), pytest.raises(StoppedError):
        line(time.sleep, 600)
    assert steps == ["waiting for other visitors"] * 3


def test_a_process_that_ends_early_is_said_in_words(line):
    with pytest.raises(InputError, match="ended early"):
        line(os._exit, 1)
    assert line(abs, -1) == 1
