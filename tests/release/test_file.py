"""Files may come from anyone: whatever is wrong with one, it ends in ReleaseFileError."""

import ast
import hashlib
import json
import struct
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save

import snhkit
from snhkit import load
from snhkit.errors import ReleaseFileError
from snhkit.geometry import Grid, Region
from snhkit.models.grid_model import GridModel
from snhkit.privacy import PrivacyUnit, Spend, exact, rho_of
from snhkit.release import Release

CITY = Region.around(lat=45, lon=7, side_m=400)
VALUES = np.array([[1, -2], [3, 4]])


def release(values=VALUES) -> Release:
    third = exact("1/3")
    spends = (Spend(third, "counts of 4 cells", "parallel"),)
    model = GridModel(Grid(CITY, 2), values)
    return Release(
        "Identity", {"cell_m": 200.0}, third, PrivacyUnit("record"), 6, True, spends, model
    )


def header(data: bytes) -> dict:
    return json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])


def raw(head: bytes, body: bytes = b"") -> bytes:
    return struct.pack("<Q", len(head)) + head + body


def described(**changes) -> bytes:
    """A file whose description differs from a good one."""
    about = json.loads(header(release().to_bytes())["__metadata__"]["snhkit"]) | changes
    return save({"values": VALUES}, metadata={"snhkit": json.dumps(about)})


def with_text(text: str) -> bytes:
    return save({"values": VALUES}, metadata={"snhkit": text})


def refused(data: bytes, tmp_path: Path) -> str:
    path = tmp_path / "bad.snh"
    path.write_bytes(data)
    with pytest.raises(ReleaseFileError, match=r"^\S*bad\.snh: ") as caught:
        load(path)
    return str(caught.value)


def test_a_good_file_is_read(tmp_path):
    path = tmp_path / "good.snh"
    path.write_bytes(described())
    again = load(path)
    assert (again.model.values == VALUES).all()
    assert again.epsilon == again.spends[0].epsilon == exact("1/3")


class TestGaussianNoise:
    DELTA = Fraction(1, 10**6)
    RHO = rho_of(Fraction(1, 3), DELTA)

    def gaussian(self) -> Release:
        spends = (Spend(Fraction(0), "counts of 4 cells", "parallel", rho=self.RHO),)
        return replace(release(), spends=spends, delta=self.DELTA)

    def test_a_file_holds_delta_and_rho(self, tmp_path):
        again = load(self.gaussian().save(tmp_path / "g.snh"))
        assert (again.epsilon, again.delta, again.rho) == (Fraction(1, 3), self.DELTA, self.RHO)
        assert repr(again) == repr(self.gaussian())
        assert "delta = 0.000001 (zCDP with rho = " in again.card()["Privacy"]

    @pytest.mark.parametrize(
        ("changes", "told"),
        [
            ({"epsilon": "1/4"}, "more than epsilon = 1/4 at"),
            ({"delta": "1/10000000"}, "delta = 1/10000000 allows"),
            ({"delta": "0"}, "delta or rho is out of range"),
            ({"delta": "2"}, "delta or rho is out of range"),
            ({"delta": "1e-6"}, "written as p or p/q"),
            ({"delta": None}, "has no 'delta'"),
            ({"delta": 0.1}, "has no 'delta'"),
            ({"spends": [["1/3", "x", "parallel", "0", "1/10"]]}, "must be 0"),
            ({"spends": [["0", "x", "parallel", "0", "1/9"], ["1", "x", "parallel"]]}, "only some"),
            ({"spends": [["0", "x", "parallel", "0", "9" * 60]]}, "out of range"),
            ({"spends": [["0", "x", "parallel", "0", "1", "1"]]}, "three to five texts"),
        ],
    )
    def test_what_does_not_fit_is_refused(self, changes, told, tmp_path):
        about = json.loads(header(self.gaussian().to_bytes())["__metadata__"]["snhkit"]) | changes
        assert told in refused(with_text(json.dumps(about)), tmp_path)


class TestNotARelease:
    whole = release().to_bytes()
    huge = json.dumps(
        {"values": {"dtype": "I64", "shape": [2**31, 2**31], "data_offsets": [0, 32]}}
    )

    @pytest.mark.parametrize(
        "data",
        [
            b"",
            b"\0",
            b"city,count\n1,2\n",
            b"\x80\x04\x95\x1d\x00\x00\x00\x00\x00\x00\x00\x8c\x02os\x8c\x06system\x93.",
            b"PK\x03\x04" + b"\0" * 60,
            whole[:-1],
            whole[:40],
            whole + b"\0",
            struct.pack("<Q", 2**63) + b"{}",
            struct.pack("<Q", 2**64 - 1),
            raw(b"{" * 100_000),
            raw(b"[]"),
            raw(huge.encode(), b"\0" * 32),
        ],
        ids=lambda data: repr(data[:24]),
    )
    def test_bytes_that_are_no_safetensors(self, data, tmp_path):
        assert "not a safetensors file" in refused(data, tmp_path)

    def test_another_safetensors_file(self, tmp_path):
        assert "not a release of snhkit" in refused(save({"values": VALUES}), tmp_path)
        assert "not a release" in refused(save({}, metadata={"format": "np"}), tmp_path)

    def test_a_folder_and_nothing(self, tmp_path):
        for path in (tmp_path, tmp_path / "nothing.snh"):
            with pytest.raises(ReleaseFileError, match="there is no such file"):
                load(path)

    def test_more_arrays_than_a_release_has(self, tmp_path):
        many = {str(number): np.zeros(0) for number in range(1_001)}
        about = header(release().to_bytes())["__metadata__"]
        assert "more than 1,000 arrays" in refused(save(many, about), tmp_path)

    @pytest.mark.parametrize(
        "dtype", ["BF16", "F8_E4M3", "F8_E5M2", "BOOL", "U8", "I8", "U64", "X"]
    )
    def test_types_no_release_uses(self, dtype, tmp_path):
        size = {"BF16": 2, "U64": 8}.get(dtype, 1)
        head = header(described()) | {
            "values": {"dtype": dtype, "shape": [2, 2], "data_offsets": [0, 4 * size]}
        }
        refused(raw(json.dumps(head).encode(), b"\0" * 4 * size), tmp_path)


class TestItsDescription:
    @pytest.mark.parametrize(
        "text",
        [
            *("", "{", "null", "7", "[]", "{}", '"x"', "\ud7ff", '{"format": 1, "kind": {}}'),
            "[" * 100_000,
            '{"a":' * 5_000 + "1" + "}" * 5_000,
            '{"format": ' + "9" * 10_000 + "}",
        ],
        ids=lambda text: repr(text[:16]),
    )
    def test_other_json(self, text, tmp_path):
        refused(with_text(text), tmp_path)

    @pytest.mark.parametrize(
        ("changes", "told"),
        [
            ({"format": 2}, "format 2 is not supported"),
            ({"kind": "os.system"}, "model 'os.system' is unknown"),
            ({"kind": "prior"}, "Release the records again with DenoisedGrid"),
            ({"kind": "snh"}, "damaged"),
            ({"kind": ["grid"]}, "'kind' must be text"),
            ({"epsilon": "1e999999999"}, "written as p or p/q"),
            ({"epsilon": "9" * 1001}, "at most 1,000 digits"),
            ({"epsilon": "1/0"}, "written as p or p/q"),
            ({"epsilon": "0"}, "greater than 0"),
            ({"epsilon": 0.5}, "damaged"),
            ({"spends": [["1e999999999", "x", "parallel"]]}, "written as p or p/q"),
            ({"spends": [["0", "x", "parallel"]]}, "positive Fraction"),
            ({"spends": [["1", "x", "free"]]}, "composition"),
            ({"spends": [["1", "x"]]}, "damaged"),
            ({"spends": [["1", "x", "parallel", "1"]]}, "below 1"),
            ({"spends": [["1", "x", "parallel", "1e-9"]]}, "a delta must be written as"),
            ({"spends": [["1", "x", "parallel", "0", "0", "0"]]}, "damaged"),
            ({"region": {"lat": 45, "lon": 7, "side_m": -1}}, "side_m must lie in"),
            ({"region": {"lat": 91, "lon": 7, "side_m": 9}}, "lat must lie in"),
            ({"region": {"lat": "45", "lon": 7, "side_m": 9}}, "numbers lat, lon and side_m"),
            ({"region": {"lat": 10**400, "lon": 7, "side_m": 9}}, "damaged"),
            ({"region": {"lat": 45, "lon": 7, "side_m": 9, "then": "x"}}, "damaged"),
            ({"region": [45, 7, 9]}, "damaged"),
            ({"unit": {"kind": "household", "max_per_user": None}}, "unit must be"),
            ({"unit": {"kind": "user", "max_per_user": 0}}, "max_per_user"),
            ({"unit": None}, "damaged"),
            ({"n": "many"}, "damaged"),
            ({"n": -1}, "'n' must be null or a whole number"),
            ({"n": True}, "'n' must be null or a whole number"),
            ({"replayable": None}, "'replayable' must be true or false, not None"),
            ({"method": ""}, "'method' must be the name of a method, not ''"),
            ({"settings": []}, "'settings' must be a JSON object"),
            ({"settings": {"noise": "none"}}, "'noise' must be a JSON object"),
            ({"settings": {"noise": {"kind": "axes"}}}, "'covariance'"),
            ({"epsilon": "2/3"}, "epsilon is 2/3, but the spends add up to 1/3"),
            ({"epsilon": str(2**101)}, "epsilon must be from 2**-100"),
            ({"epsilon": f"1/{2**101}"}, "epsilon must be from 2**-100"),
            ({"region": {"lat": 45, "lon": 7, "side_m": 1e-300}}, "side_m must lie in"),
            ({"spends": []}, "but the spends add up to 0"),
            ({"hyperparameters": {"a": "x" * 20_000}}, "longer than 10,000 characters"),
            ({"versions": {"snhkit": 1}}, "an object whose values are texts"),
            ({"hyperparameters": 5}, "damaged"),
            ({"settings": {"scale": 1e39}}, "above 2**128"),
            ({"settings": {"noise": {"weights": [[-(10**400)]]}}}, "above 2**128"),
            ({"settings": {"noise": {"variance": float("nan")}}}, "not finite"),
        ],
        ids=lambda value: str(value)[:50],
    )  # fmt: skip
    def test_what_is_wrong_is_told(self, changes, told, tmp_path):
        assert told in refused(described(**changes), tmp_path)

    @pytest.mark.parametrize(
        "name", sorted(json.loads(header(release().to_bytes())["__metadata__"]["snhkit"]))
    )
    def test_each_part_is_needed(self, name, tmp_path):
        about = json.loads(header(release().to_bytes())["__metadata__"]["snhkit"])
        del about[name]
        assert "damaged" in refused(with_text(json.dumps(about)), tmp_path)

    def test_text_cannot_steer_a_terminal(self, tmp_path):
        path = tmp_path / "loud.snh"
        evil = "\x1b[2J\r\n"
        path.write_bytes(
            described(method=evil, hyperparameters={evil: evil}, spends=[["1/3", evil, "parallel"]])
        )
        assert set(repr(load(path))) & set("\x1b\r") == set()


class TestItsArrays:
    @pytest.mark.parametrize(
        "arrays",
        [
            {},
            {"counts": VALUES},
            {"values": VALUES, "more": VALUES},
            {"values": VALUES[:1]},
            {"values": VALUES.ravel()},
            {"values": VALUES[None]},
            {"values": np.zeros((0, 0))},
            {"values": np.array([[np.nan]])},
            {"values": np.array([[np.inf]], np.float16)},
            {"values": np.array([[-1e39]])},
            {"values": VALUES.astype(np.uint8)},
            {"values": VALUES > 1},
        ],
        ids=lambda a: "-".join(f"{k}{v.shape}{v.dtype}" for k, v in a.items()),
    )
    def test_shapes_types_and_numbers(self, arrays, tmp_path):
        about = header(release().to_bytes())["__metadata__"]
        refused(save({k: np.ascontiguousarray(a) for k, a in arrays.items()}, about), tmp_path)

    @pytest.mark.parametrize("largest", [2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 2**62])
    def test_no_count_is_cut(self, largest, tmp_path):
        path = release(np.array([[largest, 0], [0, 1]])).save(tmp_path / "large.snh")
        assert load(path).model.values[0, 0] == largest


def test_nothing_that_runs_code_from_files_is_imported():
    banned = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "marshal", "shelve", "torch"}
    of_joblib = {"Parallel", "delayed", "parallel_config"}
    for path in Path(snhkit.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [a.name for a in getattr(node, "names", []) if isinstance(node, ast.Import)]
            # Workers are handed our own objects, and no file.
            if isinstance(node, ast.ImportFrom) and not (
                node.module == "joblib" and {a.name for a in node.names} <= of_joblib
            ):
                names.append(node.module or "")
            assert not {name.split(".")[0] for name in names} & banned, path
            assert not (
                isinstance(node, ast.keyword)
                and node.arg == "allow_pickle"
                and getattr(node.value, "value", None) is not False
            ), path


def test_the_checksum_is_that_of_the_whole_file():
    made = replace(release(), model=GridModel(Grid(release().region, 50), np.ones((50, 50))))
    assert made.checksum == f"sha256:{hashlib.sha256(made.to_bytes()).hexdigest()}"
