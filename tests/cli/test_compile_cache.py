"""Programs that JAX compiled in one command are found by the next, where the user keeps caches."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from snhkit.cli import main as module

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


def test_the_library_leaves_the_cache_off():
    folder = folder_of("import os, snhkit; print(os.environ.get('JAX_COMPILATION_CACHE_DIR'))")
    assert str(folder) == "None"


@pytest.mark.parametrize("named", [None, "mine"])
def test_a_named_folder_is_used_and_one_that_cannot_be_made_is_not(tmp_path, monkeypatch, named):
    (tmp_path / "a file").write_text("")
    monkeypatch.setenv("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "9")
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", named or "")
    if named is None:
        monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR")
    monkeypatch.setattr(
        module.platformdirs, "user_cache_path", lambda *_, **__: tmp_path / "a file"
    )
    module.keep_compiled()
    assert os.environ.get("JAX_COMPILATION_CACHE_DIR") == named
