"""The league: what a hostile hand-in can do, what stands and what is refuted."""

import math
import random
import re
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import snhkit as snh
from snhkit.errors import InputError
from snhkit.teaching import assignment
from snhkit.teaching.assignments import BOXES
from snhkit.teaching.league import (
    League,
    Standing,
    _attack,
    _messages,
    _people,
    _promised,
    _Trial,
    league,
)

module = import_module("snhkit.teaching.league")
SAMPLE = Path(__file__).parents[2] / "notebooks" / "league" / "sample"


def test_a_key_gives_each_name_its_own_assignment_whatever_its_case():
    names = [f"student {number}" for number in range(60)]
    tasks = [assignment("key", name) for name in names]
    assert len({task.seed for task in tasks}) == 60
    assert {task.city for task in tasks} == {"chicago", "miami", "milwaukee", "tulsa"}
    assert {task.epsilon for task in tasks} == {"0.25", "0.5"}
    assert assignment("key", "STUDENT 1").seed == tasks[1].seed
    assert assignment("other", "student 1").seed != tasks[1].seed
    one = tasks[0]
    assert len(one.records) == 4_000
    assert one.boxes.width.min() >= one.sizes_m[0]
    assert one.boxes.width.max() <= one.sizes_m[1]
    assert one.apart * float(one.epsilon) == 1.5


def test_hand_ins_that_are_not_files_are_not_run(tmp_path):
    code = "raise SystemExit"
    for name in ("two", "linked", "large", "empty"):
        (tmp_path / name).mkdir()
    (tmp_path / "two" / "a.py").write_text(code)
    (tmp_path / "two" / "b.py").write_text(code)
    (tmp_path / "secret.txt").write_text(code)
    (tmp_path / "linked" / "a.py").symlink_to(tmp_path / "secret.txt")
    (tmp_path / "large" / "a.py").write_text("#" * (2**20 + 1))
    found = league(tmp_path, "key", runs=20)
    reasons = {one.task.student: one.reason for one in found.standings}
    assert reasons == {
        "two": "it has 2 Python files and 0 releases, not 1 and 1",
        "empty": "it has 0 Python files and 0 releases, not 1 and 1",
        "linked": "a.py is no file, or has more than 1,048,576 bytes",
        "large": "a.py is no file, or has more than 1,048,576 bytes",
    }
    with pytest.raises(InputError, match="holds no folder"):
        league(tmp_path / "empty", "key")


def test_the_people_of_an_audit_are_like_all_others_or_alone(monkeypatch):
    monkeypatch.setattr("secrets.randbits", random.Random(7).getrandbits)
    task = assignment("sample", "ada")
    people, more = _people(task)
    others, other_more = _people(task)
    assert len(people) != len(others) or (people.xy != others.xy).any()
    assert (more["in the crowd"][0] != other_more["in the crowd"][0]).any()
    for place, xy in more.items():
        assert xy.shape == (task.apart, 2)
        gap = np.linalg.norm(people.xy - xy[-1], axis=1).min()
        assert gap < 500 if place == "in the crowd" else gap > 200


def test_the_table_ranks_by_error_and_shows_no_signs_for_the_terminal():
    def standing(name, error, bound, **more):
        return Standing(assignment("k", name), error=error, of_uniform=error / 10,
                        shown={"the audit, in the crowd": bound}, **more)  # fmt: skip

    claim = float(assignment("k", "bad").epsilon)
    hostile = standing("\x1b[2J" + "x" * 40, math.nan, 0, reason="it raised \x1b]0;\x07")
    good, bad = standing("good", 5, 0.1), standing("bad", 1, claim + 0.004)
    text = str(League([good, bad, hostile], ["network"], 2_000))
    rows = text.splitlines()
    assert max(map(len, rows[:4])) <= 80
    assert re.fullmatch(r" {4}1  good +0\.\d+ +5\.0 +0\.50  stands \(0\.10\)", rows[1])
    assert re.fullmatch(rf" +-  bad .* refuted: at least {claim:.2f}", rows[2])
    assert f"bad claims {claim:g}: the audit, in the crowd, at least {claim:.2f}" in text
    assert "could not limit: network." in text
    assert "\x1b" not in rows[3]
    assert rows[3].endswith("not scored")


def test_results_that_are_no_objects_end_the_reading():
    ok = b'{"release": "AA=="}\n'
    for bad in (b"[" * 10**5, b"9" * 10**4, b"\xff\xfe", b"[1]", b"NaN", b'{"a"'):
        assert list(_messages(ok + bad + b"\n" + ok)) == [{"release": "AA=="}]


def test_a_release_must_be_what_the_assignment_asks_for(tmp_path):
    task = assignment("sample", "ada")
    path = tmp_path / "release.snh"

    def handed_in(records=task.records, epsilon=task.epsilon, delta=0, n_public=False):
        budget = snh.Budget(5, delta=delta) if delta else 5
        data = snh.PrivateDataset(records, budget=budget, unit="record", n_public=n_public)
        data.release(snh.UniformGrid(), epsilon=epsilon, delta=delta).save(path)
        return _promised(path, task)

    assert handed_in().method == "UniformGrid"
    with pytest.raises(InputError, match=r"it costs 1, more than 0\.5"):
        handed_in(epsilon=1)
    with pytest.raises(InputError, match="a private n"):
        handed_in(n_public=True)
    with pytest.raises(InputError, match="no delta"):
        handed_in(delta=1e-6)
    with pytest.raises(InputError, match="of the region"):
        handed_in(records=snh.synthetic_points("fargo", 100))
    trial = _Trial(Standing(task), tmp_path, 1, 1, set())
    with pytest.raises(InputError, match="not a safetensors file"):
        trial._answers([b"junk"], task.boxes)


def test_audits_and_attacks_compare_what_belongs_together(tmp_path, monkeypatch):
    one, by = (Standing(assignment("sample", name)) for name in ("ada", "ben"))
    trial = _Trial(one, tmp_path / "kept", 200, 1, set())
    answers = np.random.default_rng(0).normal(size=(3, 200, BOXES + 8))
    answers[2, :, BOXES + 4] += 1e9  # in a box around the second place, with its people
    trial._audit(list(answers), ["here", "there"])
    assert one.shown["the audit, here"] < 0.1 < one.shown["the audit, there"]
    worlds = [snh.Points(one.task.region, [[x, 1]]) for x in (1, 2)]
    trial._keep([[b"without"] * 200, [b"with"] * 200], worlds)
    told = [Path(path).read_bytes() == b"with" for path in one.released["releases"]]
    assert (one.released["included"], len(set(told)), len(told)) == ([[2, 1]], 2, 200)
    for guesses, least in ((told, 0.3), ([not guess for guess in told], 0)):
        monkeypatch.setattr(module, "_run", lambda *_, g=guesses: ([{}, {"guesses": g}], ""))
        _attack(by, [one], 1)
        assert bool(one.shown["the attack of ben"] > least) == (guesses == told)


def test_a_release_of_another_mechanism_is_remarked_on(tmp_path):
    task = assignment("sample", "ada")
    one = Standing(task, release=SAMPLE / "ada" / "release.snh")
    trial = _Trial(one, tmp_path, 1, 1, set())
    release = snh.load(one.release)
    error = np.abs(release.answer(task.boxes) - snh.exact_counts(task.records, task.boxes)).mean()
    trial._check_release(np.array([0.9, 1.1]) * error)
    assert one.remarks == []
    for factor, said in ((10, "its release is not of its mechanism"), (0.1, "its release is not")):
        trial._check_release(np.array([0.9, 1.1]) * error * factor)
        assert one.reason.startswith(said)
        one.reason = ""
    data = snh.PrivateDataset(task.records, budget=1, unit="record")
    one.release = tmp_path / "seeded.snh"
    data.release(snh.Identity(1_000), epsilon="0.5", seed=1).save(one.release)
    trial._check_release(np.array([0.9, 1.1]) * error)
    assert one.remarks == ["the noise of its release comes from a seed."]
    one.release = None
    trial._check_release(np.array([error]))
    assert one.remarks[-1] == "no release was handed in."


@pytest.mark.release
@pytest.mark.chance(1e-7)
def test_the_sample_has_the_expected_table(monkeypatch):
    """People and places are seeded, noise is fresh.

    The chance: that cleo's bound where nobody is, six deviations above her claim, is below it, or
    that two frequencies of a private mechanism are each off by four deviations.
    """
    rng = np.random.default_rng(30)
    monkeypatch.setattr("secrets.randbits", lambda bits: int(rng.integers(2 ** min(bits, 62))))
    found = league(SAMPLE, "sample", runs=2_000, seconds=40)
    by_name = {one.task.student: one for one in found.standings}
    verdicts = {name: one.verdict.split(" ")[0].strip(":") for name, one in by_name.items()}
    assert verdicts == {
        "ada": "stands", "ben": "stands", "cleo": "refuted", "dan": "refuted", "eve": "refuted",
        "finn": "not", "gus": "not", "hana": "not",
    }  # fmt: skip
    assert [one.refuted for one in found.standings] == [False] * 2 + [True] * 3 + [False] * 3
    assert by_name["finn"].reason == "it took more than 40 s."
    assert by_name["gus"].reason == "it raised NameError: name 'publissh' is not defined."
    assert by_name["hana"].reason.startswith("it raised TypeError: mechanism must be an object")
    for name, (low, high) in ERRORS.items():
        assert low < by_name[name].of_uniform < high, name
    proofs = {"cleo": ["where nobody is"], "dan": PLACES, "eve": ["in the crowd"]}
    for name, places in proofs.items():
        for place in places:
            assert by_name[name].shown[f"the audit, {place}"] > float(by_name[name].task.epsilon)
    for name in ("dan", "eve"):
        assert by_name[name].shown["the attack of ada"] > float(by_name[name].task.epsilon)
    remarks = {name: one.remarks for name, one in by_name.items() if one.remarks}
    assert set(remarks) == {"dan"}
    assert remarks["dan"] == [
        "its attack failed on ada: ValueError: \ufffd[2J\ufffd]0;first place\ufffd."
    ]


PLACES = ("in the crowd", "where nobody is")
ERRORS = {"ada": (0.2, 0.8), **dict.fromkeys(("ben", "cleo", "dan", "eve"), (0.6, 1.1))}
"""Between which shares of the uniform grid's error each error lies."""
