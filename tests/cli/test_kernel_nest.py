"""Visitors' kernels are forks of one process, and share nothing that a visitor can change."""

import os
import sys
import time
from pathlib import Path

import pytest
from jupyter_client.manager import KernelManager

from snhkit.cli.kernel_nest import KERNEL, nest

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="kernels are forked on Linux only"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
TOLD = (
    "import os, sys; from snhkit.widgets.app import explore_app; "
    "app = explore_app(opens_files=False); seen = app.dataset.ledger.spent; "
    "app.dataset.ledger.charge(1, 'me')"
)
LEARNED = """
from ipywidgets import Widget
from snhkit.methods import METHODS
from snhkit.builders import jax_ready
from snhkit.progress import watched
from snhkit.widgets.app import explore_app

app, steps = explore_app(opens_files=False), []
widgets = sum(isinstance(one, type(app)) for one in Widget.widgets.values())
app._controls.choose("fargo", 1_000)
with watched(lambda step: steps.append(step.what)):
    release = app.dataset.release(METHODS["denoised"].builder(), epsilon=0.2, public=None)
app.sample(3)
told = widgets, float(release.answer(app.boxes).sum()) >= 0, {*steps}, jax_ready._BACKEND_PROCESS
"""


def ended(pid: int) -> bool:
    for _ in range(100):
        if not Path(f"/proc/{pid}").exists():
            return True
        time.sleep(0.1)
    return False


@pytest.mark.slow
def test_two_visitors_have_a_kernel_and_a_budget_each(tmp_path, monkeypatch):
    with nest(tmp_path) as folder:
        monkeypatch.setenv("JUPYTER_PATH", str(folder))
        managers, told = [], []
        for _ in range(2):
            manager = KernelManager(kernel_name=KERNEL)
            manager.start_kernel()
            managers.append(manager)
        for manager in managers:
            client = manager.client()
            client.start_channels()
            client.wait_for_ready(timeout=60)
            asked = {"seen": "(os.getpid(), os.getppid(), float(seen), 'jax' in sys.modules)"}
            reply = client.execute_interactive(TOLD, user_expressions=asked, timeout=60)
            content = reply["content"]
            assert content["status"] == "ok", content
            told.append(eval(content["user_expressions"]["seen"]["data"]["text/plain"]))
            client.stop_channels()
        (one, parent, spent, _), (other, same, too, _) = told
        assert one != other
        assert parent == same != os.getpid()
        assert spent == too == 0
        for manager in managers:
            manager.shutdown_kernel(now=True)
        assert ended(one)
        assert ended(other)
    assert ended(parent)


@pytest.mark.slow
def test_a_learned_release_is_built_without_jax_in_the_visitors_kernel(tmp_path, monkeypatch):
    with nest(tmp_path) as folder:
        monkeypatch.setenv("JUPYTER_PATH", str(folder))
        manager = KernelManager(kernel_name=KERNEL)
        manager.start_kernel()
        client = manager.client()
        client.start_channels()
        client.wait_for_ready(timeout=60)
        reply = client.execute_interactive(LEARNED, user_expressions={"told": "told"}, timeout=300)
        content = reply["content"]
        assert content["status"] == "ok", content
        widgets, counted, steps, jax_in = eval(
            content["user_expressions"]["told"]["data"]["text/plain"]
        )
        assert widgets == 1  # of the process that was forked, none is left
        assert counted
        assert "denoising the grid" in steps
        assert jax_in == []
        client.stop_channels()
        manager.shutdown_kernel(now=True)
