from importlib.util import find_spec

import pytest
from click.testing import CliRunner

from snhkit.cli import doctor as module
from snhkit.cli.main import app
from snhkit.neural import device


def run() -> str:
    done = CliRunner().invoke(app, ["doctor"])
    assert done.exit_code == 0, done.output
    return " ".join(done.output.split())


def test_versions_devices_and_places_are_printed():
    import numpy

    text = run()
    assert f"numpy {numpy.__version__}" in text
    assert "cpu:0" in text
    assert "training and denoising (snh, snh-paper, denoised, dpsgd) the processor" in text


def test_what_is_missing_is_named_with_its_command(monkeypatch):
    monkeypatch.setattr(module, "_EXTRAS", {"pgm": ("no_such_package", "the method pgm")})
    assert 'the method pgm: pip install "snhkit[pgm]"' in run()
    monkeypatch.setattr(module, "_EXTRAS", {})
    assert "Nothing is missing." in run()


def test_every_extra_is_looked_for():
    from pathlib import Path
    from tomllib import loads

    project = Path(__file__).parents[2] / "pyproject.toml"
    if not project.is_file():
        pytest.skip("not run from the source tree")
    extras = loads(project.read_text())["project"]["optional-dependencies"]
    assert set(module._EXTRAS) == set(extras) - {"test", "docs", "dev"}


def test_jax_that_does_not_work_is_told(monkeypatch):
    def broken(method):
        raise device.InputError(f"{method}: JAX cannot compute here (no). Nothing was spent.")

    monkeypatch.setattr(device, "require_jax", broken)
    text = run()
    assert "none: JAX cannot compute here (no)." in text
    assert "nowhere: JAX does not work" in text


def test_a_driver_that_jax_does_not_use_is_told(monkeypatch):
    monkeypatch.setattr(device.Path, "exists", lambda self: True)
    if find_spec("jax_cuda12_plugin") is None:
        assert 'pip install "jax[cuda12]"' in run()
