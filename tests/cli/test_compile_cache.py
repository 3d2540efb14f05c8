"""Programs that JAX compiled in one command are found by the next, where the user keeps caches."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from snhkit.cli import compile_cache

RUN = """
import sys
from snhkit.cli.main import main
sys.argv[1:] = ["cities"]
main()
import jax
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
jax.jit(lambda x: x + 1)(1.0)
print(jax.config.jax_compilation_cache_dir)
"""


def folder_of(code: str, **environment: str) -> Path:
    """The cache folder that JAX uses after a program, in a new interpreter."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("JAX_")}
    told = subprocess.run(  # the interpreter of this test
        [sys.executable, "-c", code], capture_output=True, text=True, check=True,
        env={**kept, **environment},
    ).stdout  # fmt: skip
    return Path(told.splitlines()[-1])


@pytest.mark.skipif(sys.platform != "linux", reason="XDG_CACHE_HOME is read on Linux")
def test_a_command_keeps_what_it_compiled_for_its_user_alone(tmp_path):
    folder = folder_of(RUN, XDG_CACHE_HOME=str(tmp_path))
    assert folder == tmp_path / "snhkit" / "jax"
    assert list(folder.glob("*-cache"))
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_folder_that_the_user_names_is_used(tmp_path):
    named = {"JAX_COMPILATION_CACHE_DIR": str(tmp_path / "mine")}
    folder = folder_of(RUN, XDG_CACHE_HOME=str(tmp_path), **named)
    assert folder == tmp_path / "mine"
    assert list(folder.glob("*-cache"))
    assert not (tmp_path / "snhkit").exists()


def test_the_library_leaves_the_cache_off(tmp_path):
    told = folder_of("import jax, snhkit; print(jax.config.jax_compilation_cache_dir)")
    assert str(told) == "None"


def test_without_a_writable_folder_nothing_is_kept(tmp_path, monkeypatch):
    (tmp_path / "a file").write_text("")
    monkeypatch.setenv("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "9")
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", "")
    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR")
    monkeypatch.setattr(
        compile_cache.platformdirs, "user_cache_path", lambda *_, **__: tmp_path / "a file"
    )
    compile_cache.switch_on()
    assert "JAX_COMPILATION_CACHE_DIR" not in os.environ
