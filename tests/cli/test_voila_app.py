"""The guard of the app's websocket: what it refuses, what it passes on, and how fast."""

import asyncio
import tracemalloc
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jupyter_server.services.kernels.connection.base import (
    deserialize_msg_from_ws_v1,
    serialize_msg_to_ws_v1,
)
from tornado.web import HTTPError
from voila.shutdown_kernel_handler import VoilaShutdownKernelHandler
from voila.tornado.handler import TornadoVoilaHandler
from voila.tornado.kernel_websocket_handler import VoilaKernelWebsocketHandler

from snhkit.cli import voila_app
from snhkit.cli.voila_app import Closing, ExplorerApp, GuardedPage, GuardedSocket, whole

PARTS = st.lists(st.binary(max_size=20), min_size=4, max_size=7)


def test_the_number_of_parts_that_a_message_states_fills_no_memory():
    message = (2**18).to_bytes(8, "little") + bytes(800)
    tracemalloc.start()
    refused = not whole(message)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert refused
    assert peak < 2**18


@given(PARTS)
def test_jupyters_own_messages_are_whole(parts):
    message = serialize_msg_to_ws_v1(parts, "shell")
    assert whole(message)
    assert deserialize_msg_from_ws_v1(message) == ("shell", parts)


@given(PARTS, st.data())
def test_what_is_changed_is_refused_or_has_as_many_parts_as_it_has_room_for(parts, data):
    message = bytearray(serialize_msg_to_ws_v1(parts, "shell"))
    at = data.draw(st.integers(0, 8 * (len(parts) + 3) - 1))
    message[at] = data.draw(st.integers(0, 255))
    message = bytes(message[: data.draw(st.integers(0, len(message)))])
    if whole(message):
        assert int.from_bytes(message[:8], "little") < len(message) / 8
        assert sum(map(len, deserialize_msg_from_ws_v1(message)[1])) <= len(message)


BACKWARDS, BEYOND = (
    b"".join(k.to_bytes(8, "little") for k in (3, *ends)) + bytes(20)
    for ends in ((40, 36, 44), (32, 36, 53))
)


@pytest.mark.parametrize(
    "message", ["{}", b"", b"\xff" * 8, b"\xff" * 80, bytes(80), BACKWARDS, BEYOND]
)
def test_what_is_no_message_is_refused(message):
    assert not whole(message)


@pytest.mark.parametrize("offered", [None, "", "other", "v1.kernel.websocket.jupyter.org.x"])
def test_a_page_without_the_protocol_is_refused(offered):
    headers = {} if offered is None else {"Sec-WebSocket-Protocol": offered}
    socket = object.__new__(GuardedSocket)
    socket.request = SimpleNamespace(headers=headers)  # pyright: ignore
    with pytest.raises(HTTPError, match="400"):
        asyncio.run(socket.get("a"))
    assert socket.select_subprotocol(["other"]) == "v1.kernel.websocket.jupyter.org"


def test_messages_are_passed_on_at_a_bounded_rate_and_others_end_the_socket(monkeypatch):
    passed, waited, closed = [], [], []
    socket = object.__new__(GuardedSocket)
    socket.connection = SimpleNamespace(handle_incoming_message=passed.append)
    monkeypatch.setattr(socket, "close", lambda code, reason: closed.append(code))

    async def sleep(seconds):
        waited.append(seconds)

    monkeypatch.setattr(voila_app.asyncio, "sleep", sleep)
    small, large = (serialize_msg_to_ws_v1([b"", b"", b"", b"x" * n], "shell") for n in (1, 10**6))
    for message in (small, large, b"\xff" * 80):
        asyncio.run(socket.on_message(message))
    assert passed == [small, large]
    assert waited == [0.005, pytest.approx(0.1, rel=1e-3)]
    assert closed == [1007]
    assert socket.max_message_size == 2**20


def test_pages_that_would_fill_the_memory_are_refused(monkeypatch):
    open_pages = ["first"]

    async def page(self, path=None):
        await asyncio.sleep(0)
        open_pages.append("another")

    monkeypatch.setattr(TornadoVoilaHandler, "get", page)
    monkeypatch.setattr(GuardedPage, "most", 7)
    kernels = SimpleNamespace(list_kernel_ids=lambda: open_pages)
    monkeypatch.setattr(GuardedPage, "kernel_manager", kernels)
    monkeypatch.setattr(GuardedPage, "current_user", "somebody")
    visitor = object.__new__(GuardedPage)

    async def visit():
        visits: Any = [visitor.get() for _ in range(50)]
        return await asyncio.gather(*visits, return_exceptions=True)

    refused = [found for found in asyncio.run(visit()) if found is not None]
    assert {found.status_code for found in refused} == {503}
    assert 7 <= len(open_pages) < 7 + 4


def test_the_server_uses_the_guards(monkeypatch):
    theirs = [
        ("/a", VoilaKernelWebsocketHandler),
        ("/b", VoilaShutdownKernelHandler),
        ("/(.*)", TornadoVoilaHandler, {"c": 1}),
    ]
    monkeypatch.setattr("voila.app.Voila.init_handlers", lambda self: theirs)
    ours = ExplorerApp.init_handlers(object.__new__(ExplorerApp))
    assert ours == [("/a", GuardedSocket), ("/b", Closing), ("/(.*)", GuardedPage, {"c": 1})]
