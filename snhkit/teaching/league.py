"""The league of a class: hand-ins are scored, audited and attacked, each in its own process."""

import base64
import json
import math
import os
import secrets
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tqdm.auto import tqdm

from snhkit.builders import UniformGrid
from snhkit.data import synthetic_points
from snhkit.dataset import PrivateDataset
from snhkit.errors import InputError, printable
from snhkit.geometry import Points, RangeQueries, exact_counts
from snhkit.loading import load
from snhkit.privacy import PrivacyUnit, audit_mechanism, exact
from snhkit.privacy.audit import least_probability
from snhkit.privacy.budget import written
from snhkit.release import Release
from snhkit.teaching.assignments import BOXES, PEOPLE, Assignment, assignment

_AUDITED_M = (1.0, 50.0, 800.0, 3_200.0)  # sides of boxes around these people
_ERROR = 1e-5  # probability that an audit, or an attack, refutes a mechanism that is private
_MOST_TRIES = 500  # releases that one attack is tried on
_UNLIKE = 2  # factor by which the error of a release may lie outside those of its mechanism
_REFERENCES = 20  # releases of the uniform grid
_MAX_BYTES = 2**28  # of the results of one process
_MAX_FILE = 2**20  # bytes of a hand-in's code
_MAX_RELEASE = 2**25  # bytes of a hand-in's release
_CHILD = Path(__file__).with_name("handin.py")


@dataclass
class Standing:
    """The result of one hand-in: its error, the lower bounds on its epsilon, and remarks."""

    task: Assignment
    code: Path | None = None
    release: Path | None = None
    attacks: bool = False
    error: float = math.nan  # mean error of a hidden box, in people
    of_uniform: float = math.nan  # this error divided by that of the uniform grid
    shown: dict[str, float] = field(default_factory=dict)  # lower bounds, by who showed them
    reason: str = ""  # why it is not scored
    remarks: list[str] = field(default_factory=list)
    released: dict[str, Any] = field(default_factory=dict)  # releases for attacks, and their worlds
    coins: list[bool] = field(default_factory=list)  # which of the worlds each release is about

    @property
    def refuted(self) -> bool:
        """Whether a lower bound is above the claimed epsilon."""
        return max(self.shown.values(), default=0) > float(self.task.epsilon)

    @property
    def verdict(self) -> str:
        """The verdict, as the table shows it."""
        if self.reason:
            return "not scored"
        most = max(self.shown.values(), default=0)
        return f"refuted: at least {most:.2f}" if self.refuted else f"stands ({most:.2f})"


@dataclass(frozen=True)
class League:
    """The standings of a class, best first, and the limits that its processes did not have."""

    standings: Sequence[Standing]
    lacking: Sequence[str]
    runs: int

    def __str__(self) -> str:
        lines = ["place  student             epsilon   error   of UG  verdict"]
        place = 0
        for one in self.standings:
            place += not (one.refuted or one.reason)
            counted = "-" if one.refuted or one.reason else place
            numbers = " " * 15 if one.reason else f"{one.error:7.1f}  {one.of_uniform:6.2f}"
            name = f"{_short(one.task.student):18}  {one.task.epsilon:>7}"
            lines.append(f"{counted:>5}  {name}  {numbers}  {one.verdict}")
        lines += [
            "",
            f"error: mean error of {BOXES} hidden boxes, in people, over {self.runs:,} releases "
            "about other people of the same city; of UG: this error divided by the uniform grid's. "
            "stands: not refuted. The number in the verdict is the largest lower bound on the real "
            "epsilon that the audit or a classmate showed.",
        ]
        for title, told in (("Refuted", self._proofs()), ("Remarks", self._remarks())):
            lines += ["", title, *(told or ["  none"])]
        return "\n".join([*lines, "", "What could not be checked", *self._unchecked()])

    def _proofs(self) -> list[str]:
        return [
            f"  {_short(one.task.student)} claims {one.task.epsilon}: {who}, at least {bound:.2f}"
            for one in self.standings
            for who, bound in sorted(one.shown.items(), key=lambda item: -item[1])
            if bound > float(one.task.epsilon)
        ]

    def _remarks(self) -> list[str]:
        return [
            f"  {_short(one.task.student)}: {told}"
            for one in self.standings
            for told in ([f"not scored: {one.reason}"] if one.reason else []) + one.remarks
        ]

    def _unchecked(self) -> list[str]:
        lacking = [f"  This platform could not limit: {', '.join(self.lacking)}."]
        return [
            *(lacking if self.lacking else []),
            "  Hand-ins ran as you: they could read and delete your files, and read the memory of "
            "this program. Run those of strangers in an account or a container of its own.",
            "  A mechanism that stands is not proved private: two places of a city were audited, "
            "and bounds are wrong with a probability of 1 in 100,000 for each audit and attack.",
            "  Nothing tells who wrote a hand-in, or whether a release was chosen among several.",
        ]


def league(folder: Path, key: str, *, runs: int = 2_000, seconds: int = 120) -> League:
    """Return the league of the hand-ins in a folder, whose code is run.

    Each hand-in is a folder with the name of the student, or one Python file ``NAME.py``. A folder
    has one Python file and, if its student has built one, a release (``.snh``). The code has an
    object ``mechanism``, a ``Builder``, and may have a function
    ``attack(release, without, included)``, which returns whether it guesses that the release is
    about the records ``included`` and not about those ``without`` a few people.

    A mechanism builds ``runs`` releases about each of three data sets of people whom its student
    does not know: a city, and the city with a few more people in the crowd, or where nobody is. A
    process sees one of the data sets and no boxes. The same releases are scored and audited, so a
    mechanism cannot be private for the audit only. Noise that is not drawn anew for each release
    counts as a fault.

    Parameters
    ----------
    folder : Path
        The folder.
    key : str
        The key of the class (see ``assignment``).
    runs : int
        The number of releases about each data set, at least 20.
    seconds : int
        The computing time that a process may use; it may last four times as long.

    Returns
    -------
    League
        The standings; ``str`` gives the table.

    Raises
    ------
    InputError
        If the folder holds no hand-in.
    """
    standings = [_handed_in(path, key) for path in _hand_ins(folder)]
    if not standings:
        raise InputError(f"{folder}: it holds no folder and no Python file of a student.")
    lacking: set[str] = set()
    with TemporaryDirectory(prefix="snhkit-") as kept:
        bar = tqdm(standings, "mechanisms", unit="hand-in", leave=False, disable=None)
        for number, one in enumerate(bar):
            if not one.reason:
                _Trial(one, Path(kept) / str(number), runs, seconds, lacking).build()
        targets = [one for one in standings if not one.reason]
        attackers = [one for one in standings if one.attacks]
        for by in tqdm(attackers, "attacks", unit="hand-in", leave=False, disable=None):
            _attack(by, [one for one in targets if one is not by], seconds)
    order = sorted(standings, key=lambda one: (bool(one.reason), one.refuted, one.of_uniform))
    return League(order, sorted(lacking), runs)


def _hand_ins(folder: Path) -> list[Path]:
    return sorted(
        path
        for path in folder.iterdir()
        if not path.name.startswith((".", "_")) and (path.is_dir() or path.suffix == ".py")
    )


def _handed_in(path: Path, key: str) -> Standing:
    """Return the standing of a hand-in before it is run, with a reason if it cannot be."""
    one = Standing(assignment(key, path.stem if path.suffix == ".py" else path.name))
    files = sorted(path.iterdir()) if path.is_dir() and not path.is_symlink() else [path]
    codes, releases = ([f for f in files if f.suffix == suffix] for suffix in (".py", ".snh"))
    if len(codes) != 1 or len(releases) > 1:
        one.reason = f"it has {len(codes)} Python files and {len(releases)} releases, not 1 and 1"
        return one
    for file, most in [(codes[0], _MAX_FILE), *((f, _MAX_RELEASE) for f in releases)]:
        if file.is_symlink() or not file.is_file() or file.stat().st_size > most:
            one.reason = f"{file.name} is no file, or has more than {most:,} bytes"
    one.code, one.release = codes[0].absolute(), releases[0] if releases else None
    return one


@dataclass
class _Trial:
    """The building, scoring and auditing of one hand-in; releases for attacks go to ``kept``."""

    one: Standing
    kept: Path
    runs: int
    seconds: int
    lacking: set[str]

    def build(self) -> None:
        """Fill in the standing."""
        task, region = self.one.task, self.one.task.region
        people, more = _people(task)
        with_more = (np.concatenate([people.xy, xy]) for xy in more.values())
        worlds = [people, *(Points(region, xy) for xy in with_more)]
        try:
            built = [self._releases(world) for world in worlds]
            # Drawn when the processes have ended, so that none of them can find the boxes.
            hidden = RangeQueries.sample(people, BOXES, task.sizes_m, secrets.randbits(32))
            boxes = _and_around(hidden, np.array([xy[-1] for xy in more.values()]))
            answers = [self._answers(contents, boxes) for contents in built]
        except InputError as error:
            self.one.reason = str(error)
            return
        errors = np.abs(answers[0][:, :BOXES] - exact_counts(people, hidden)).mean(axis=1)
        self.one.error = float(errors.mean())
        self.one.of_uniform = self.one.error / _uniform_error(task, people, hidden)
        self._check_release(errors)
        self._audit(answers, list(more))
        self._keep(built[:2], worlds[:2])

    def _releases(self, world: Points) -> list[bytes]:
        """Return the releases of the mechanism about a data set; InputError says why not."""
        rng = np.random.default_rng(secrets.randbits(128))
        job = {
            "region": world.region.to_dict(),
            "records": rng.permutation(world.xy).tolist(),
            "epsilon": self.one.task.epsilon,
            "runs": self.runs,
        }
        messages, failure = _run(self.one.code, job, self.seconds)
        found = []
        self.lacking.update(messages[0]["lacking"] if messages else [])
        for message in messages:
            self.one.attacks |= message.get("attack") is True
            if isinstance(release := message.get("release"), str):
                with suppress(ValueError):
                    found.append(base64.b64decode(release, validate=True))
        if failure or len(found) < self.runs:
            done = f" after {len(found):,} of {self.runs:,} releases" if found else ""
            raise InputError(f"{failure or 'it ended without a result'}{done}.")
        return [found[k] for k in rng.permutation(self.runs)]

    def _answers(self, contents: list[bytes], boxes: RangeQueries) -> NDArray[np.float64]:
        """Return the answers of releases in files' bytes, shape (runs, boxes)."""
        answers = []
        with TemporaryDirectory(prefix="snhkit-") as folder:
            path = Path(folder) / "release.snh"
            for content in contents:
                path.write_bytes(content)
                answers.append(_promised(path, self.one.task).answer(boxes))
        if not np.isfinite(answers).all():
            raise InputError("its releases answer with numbers that are not finite.")
        return np.array(answers)

    def _audit(self, answers: list[NDArray[np.float64]], places: list[str]) -> None:
        pairs, area = {}, np.square(_AUDITED_M)
        for number, place in enumerate(places):
            first = BOXES + number * len(_AUDITED_M)
            columns = slice(first, first + len(_AUDITED_M))
            densities = (answers[k][:, columns] / area for k in (0, number + 1))
            pairs[place] = tuple(map(iter, densities))
        apart = self.one.task.apart
        promised = apart * float(self.one.task.epsilon)
        audit = audit_mechanism(next, pairs, promised, self.runs, confidence=1 - _ERROR)
        self.one.shown |= {f"the audit, {place}": b / apart for place, b in audit.shown.items()}

    def _check_release(self, errors: NDArray[np.float64]) -> None:
        """Remark on the release that was handed in, or refuse it if its error is another one."""
        task, path = self.one.task, self.one.release
        if path is None:
            self.one.remarks.append("no release was handed in.")
            return
        try:
            release = _promised(path, task)
        except InputError as error:
            self.one.remarks.append(f"its release cannot be used: {error}")
            return
        records = task.records
        boxes = RangeQueries.sample(records, BOXES, task.sizes_m, secrets.randbits(32))
        error = np.abs(release.answer(boxes) - exact_counts(records, boxes)).mean()
        if not errors.min() / _UNLIKE <= error <= errors.max() * _UNLIKE:
            self.one.reason = (
                f"its release is not of its mechanism: the error is {error:.1f} people, and that "
                f"of its mechanism {errors.min():.1f} to {errors.max():.1f}."
            )
        if release.replayable:
            self.one.remarks.append("the noise of its release comes from a seed.")

    def _keep(self, built: list[list[bytes]], worlds: list[Points]) -> None:
        """Write releases for attacks, about one of two data sets each; a coin chooses which."""
        self.kept.mkdir()
        coins = np.frombuffer(secrets.token_bytes(min(self.runs, _MOST_TRIES)), np.uint8) % 2
        paths = []
        for number, coin in enumerate(coins):
            paths.append(str(self.kept / f"{number}.snh"))
            Path(paths[-1]).write_bytes(built[coin][number])
        self.one.coins = [bool(coin) for coin in coins]
        self.one.released = {
            "region": worlds[0].region.to_dict(),
            "without": worlds[0].xy.tolist(),
            "included": worlds[1].xy.tolist(),
            "releases": paths,
        }


def _attack(by: Standing, targets: list[Standing], seconds: int) -> None:
    """Let one hand-in attack the mechanisms of others, and add the bounds that it showed."""
    job = {"targets": [target.released for target in targets]}
    messages, failure = _run(by.code, job, seconds * max(len(targets), 1))
    found = [message.get("guesses") for message in messages[1:]]
    failures = [failure] if failure else []
    for target, guesses in zip(targets, found, strict=False):
        coins = target.coins
        if isinstance(guesses, list) and [type(g) for g in guesses] == [bool] * len(coins):
            # A private mechanism lets a guess be right with a probability of at most
            # e^(apart epsilon) / (1 + e^(apart epsilon)), also if all guesses are made together.
            won = int((np.array(guesses) == coins).sum())
            least = max(float(least_probability(won, len(coins), 1 - _ERROR)), 0.5)
            bound = math.log(least / (1 - least)) / target.task.apart
            target.shown[f"the attack of {_short(by.task.student)}"] = bound
        else:
            told = printable(guesses[:200]) if isinstance(guesses, str) else "no guesses"
            failures.append(f"on {_short(target.task.student)}: {told}")
    by.remarks += [f"its attack failed {told}." for told in failures[:1]]


def _promised(path: Path, task: Assignment) -> Release:
    """Return the release in a file; InputError if it is not one that the assignment asks for."""
    release = load(path)
    if not isinstance(release, Release) or release.region != task.region:
        raise InputError("it must be one release of the region of the assignment.")
    if release.unit != PrivacyUnit("record") or release.delta:
        raise InputError('it must have the unit "record", a private n, and no delta.')
    if release.epsilon > exact(task.epsilon):
        raise InputError(f"it costs {written(release.epsilon)}, more than {task.epsilon}.")
    return release


def _people(task: Assignment) -> tuple[Points, dict[str, NDArray[np.float64]]]:
    """Return secret people of a city, and by place the positions of a few more, shape (apart, 2).

    Those in the crowd are people like all others, so a mechanism cannot know them by anything.
    """
    rng = np.random.default_rng(secrets.randbits(128))
    n = int(rng.integers(PEOPLE, PEOPLE + 200))
    drawn = synthetic_points(task.city, n, seed=secrets.randbits(32))
    gaps = np.linalg.norm(drawn.xy - rng.choice(drawn.xy), axis=1)
    crowd, rest = np.split(drawn.xy[gaps.argsort()], [task.apart])
    anywhere = rng.uniform(0.1, 0.9, (100, 2)) * task.region.side_m
    alone = anywhere[np.linalg.norm(anywhere[:, None] - rest, axis=2).min(axis=1).argmax()]
    more = {"in the crowd": crowd, "where nobody is": np.tile(alone, (task.apart, 1))}
    return Points(task.region, rng.permutation(rest)), more


def _and_around(hidden: RangeQueries, places: NDArray[np.float64]) -> RangeQueries:
    """Return boxes, and after them those of the sides ``_AUDITED_M`` around each place, (p, 2)."""
    side = np.tile(_AUDITED_M, len(places))
    centres = np.repeat(places, len(_AUDITED_M), axis=0)
    x, y = np.clip(centres.T - side / 2, 0, hidden.region.side_m - side)
    width = np.append(hidden.width, side)
    return RangeQueries(hidden.region, np.append(hidden.x, x), np.append(hidden.y, y), width, width)


def _uniform_error(task: Assignment, people: Points, boxes: RangeQueries) -> float:
    epsilon, truth = exact(task.epsilon), exact_counts(people, boxes)
    data = PrivateDataset(people, budget=_REFERENCES * epsilon, unit="record")
    made = (data.release(UniformGrid(), epsilon=epsilon) for _ in range(_REFERENCES))
    return float(np.mean([np.abs(release.answer(boxes) - truth).mean() for release in made]))


def _run(code: Path | None, job: dict[str, Any], seconds: int) -> tuple[list[dict], str]:
    """Run a job with a hand-in; return what its process sent, and why it failed (or nothing)."""
    known = {name: os.environ[name] for name in ("SYSTEMROOT",) if name in os.environ}
    threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "PYTHONUTF8"), "1")
    with TemporaryDirectory(prefix="snhkit-") as empty, TemporaryFile("w+") as given:
        json.dump(job, given)
        given.seek(0)
        process = subprocess.Popen(  # noqa: S603 - this is the purpose
            [sys.executable, "-B", "-P", str(_CHILD), str(code), str(seconds)],
            stdin=given,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=empty,
            env=known | threads | {"HOME": empty, "PYTHONPATH": str(_CHILD.parents[2])},
            start_new_session=True,
        )
        got, late = bytearray(), False
        reader = threading.Thread(target=_read, args=(process, got), daemon=True)
        reader.start()
        try:
            process.wait(4 * seconds + 30)
        except subprocess.TimeoutExpired:
            late = True
        finally:
            _end(process)
            process.wait()
        reader.join(10)
    messages = list(_messages(bytes(got)))
    told = messages[-1].get("error") if messages else None
    if not messages:
        return [], "its process did not start"
    if late or process.returncode == -getattr(signal, "SIGXCPU", 0):
        return messages, f"it took more than {seconds} s"
    if len(got) > _MAX_BYTES:
        return messages, f"it sent more than {_MAX_BYTES:,} bytes"
    if isinstance(told, str):
        return messages, f"it raised {printable(told[:200])}"
    return messages, "its process was ended by the system" if process.returncode else ""


def _read(process: subprocess.Popen, got: bytearray) -> None:
    """Read what a process sends until it ends or sends too much; then end it."""
    if process.stdout is not None:
        with process.stdout as pipe:
            while len(got) <= _MAX_BYTES and (part := os.read(pipe.fileno(), 2**16)):
                got += part
        if len(got) > _MAX_BYTES:
            _end(process)


def _end(process: subprocess.Popen) -> None:
    """End a process, and those that it has started in its group."""
    with suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()


def _messages(sent: bytes) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects in lines, up to the first line that holds none."""
    for line in sent.splitlines():
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            return
        if not isinstance(message, dict):
            return
        yield message


def _short(name: str) -> str:
    """Return a name for a column of 18 characters."""
    name = printable(name)
    return name if len(name) <= 18 else name[:17] + "…"
