"""The command line, whose commands are in the other modules of this folder."""

import _thread
import contextlib
import io
import os
import signal
import sys
import threading
import warnings
from typing import Any, NoReturn

import click
import platformdirs

from snhkit.cli.answer import answer
from snhkit.cli.compare import compare
from snhkit.cli.course import course, story
from snhkit.cli.describe import card, cities, show_ledger, verify
from snhkit.cli.doctor import doctor
from snhkit.cli.explore import explore
from snhkit.cli.plan import plan
from snhkit.cli.release import release
from snhkit.cli.reproduce import reproduce
from snhkit.errors import LedgerWarning, SnhkitError, printable

_NO_SPACE = " Write the numbers of one option without a space, as in --center 44.97,-93.26."
_AGAIN_S = 0.05  # seconds after which a lost Ctrl-C is repeated
# Programs that compile in fewer seconds are not kept. With JAX's default of 1, half of the programs
# for a small city would not be kept.
_LEAST_SECONDS = "0.5"
_over = threading.Event()
"""An event that is set when the command has ended or an interrupt has reached ``main``."""


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="snhkit")
def app() -> None:
    """Count private locations in boxes, under differential privacy."""


for _command in (
    compare, release, show_ledger, card, verify, answer, plan, reproduce, cities, course, story,
    doctor, explore,
):  # fmt: skip
    app.add_command(_command)


def main() -> None:
    """Run the command line; after an error, print one line to standard error and exit with 2."""
    keep_compiled()
    for stream in (sys.stdout, sys.stderr):  # many consoles lack letters such as a Greek epsilon
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    hook, sys.unraisablehook = sys.unraisablehook, _interrupt_again
    shown, warnings.showwarning = warnings.showwarning, _show_warning
    _over.clear()
    try:
        app.main(sys.argv[1:] or ["--help"], prog_name="snhkit", standalone_mode=False)
    except click.NoSuchOption as error:
        # A negative number after a space is read as an option, such as -93.
        minus = error.option_name.removeprefix("-")[:1].isdigit()
        _fail(error.format_message() + (_NO_SPACE if minus else ""))
    except click.ClickException as error:
        _fail(error.format_message())
    except SnhkitError as error:
        _fail(str(error))
    except OSError as error:  # such as a full disk behind a redirected --help
        _fail(f"{error.filename or 'standard output'}: {error.strerror}.")
    except (KeyboardInterrupt, click.Abort):
        _over.set()
        click.echo("snhkit: interrupted; no file is left half-written.", err=True)
        sys.exit(130)
    finally:
        _over.set()
        sys.unraisablehook, warnings.showwarning = hook, shown


def _interrupt_again(lost: "sys.UnraisableHookArgs") -> None:
    """Repeat a Ctrl-C that was lost in a callback of the garbage collector, such as JAX's."""
    if lost.exc_type is KeyboardInterrupt:
        # threading.Timer would wait for its thread to start, and an interrupt that arrives during
        # this wait would be lost.
        _thread.start_new_thread(_interrupt_main, ())
    else:
        sys.__unraisablehook__(lost)


def _interrupt_main() -> None:
    if _over.wait(_AGAIN_S):
        return
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
    else:  # Windows, where a call that waits is not interrupted
        _thread.interrupt_main()


def _show_warning(message: Warning | str, category: type[Warning], *where: Any) -> None:
    """Print a warning about a ledger as one line, and other warnings as Python does."""
    if issubclass(category, LedgerWarning):
        click.echo(f"snhkit: {message}", err=True)
    else:
        click.echo(warnings.formatwarning(message, category, *where[:2]), nl=False, err=True)


def _fail(message: str) -> NoReturn:
    click.echo(f"snhkit: {printable(message)}", err=True)
    sys.exit(2)


def keep_compiled() -> None:
    """Keep JAX's compiled programs, which hold no values, in a folder; before JAX is imported."""
    folder = platformdirs.user_cache_path("snhkit", appauthor=False) / "jax"
    if "JAX_COMPILATION_CACHE_DIR" not in os.environ:
        with contextlib.suppress(OSError):  # without a writable folder nothing is kept
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.environ["JAX_COMPILATION_CACHE_DIR"] = str(folder)
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", _LEAST_SECONDS)
