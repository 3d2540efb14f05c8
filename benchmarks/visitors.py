"""A class on one server: python benchmarks/visitors.py [--help].

Starts ``snhkit explore --app --class``, and opens its page for many visitors at once, as a browser
does: first the page, then the websocket of the kernel with its widgets. Each visitor builds the
methods that are ticked initially. Prints the times, and the memory of all processes of the server:
the sum of their proportional set sizes (PSS), in which memory that processes share counts once.
"""

import argparse
import asyncio
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from dataclasses import dataclass, field
from http.cookies import SimpleCookie
from pathlib import Path

import psutil
from jupyter_server.services.kernels.connection.base import (
    deserialize_msg_from_ws_v1,
    serialize_msg_to_ws_v1,
)
from tornado.httpclient import AsyncHTTPClient, HTTPRequest
from tornado.websocket import WebSocketClientConnection, websocket_connect

COMMAND = "import sys; from snhkit.cli.main import main; sys.exit(main())"
TARGET = "jupyter.widget.control"
PROTOCOL = "v1.kernel.websocket.jupyter.org"
PATIENCE_S = 3_600
LOST = "Cancelled|failed|refused"


def pss_mb(server: psutil.Process) -> tuple[float, int]:
    """Return the PSS in MB of a server and the processes that it started, and their number."""
    found = 0, 0
    for process in [server, *server.children(recursive=True)]:
        try:
            rollup = Path(f"/proc/{process.pid}/smaps_rollup").read_text()
        except OSError:  # the process has ended
            continue
        if told := re.search(r"^Pss:\s+(\d+) kB", rollup, re.MULTILINE):
            found = found[0] + int(told[1]), found[1] + 1
    return found[0] / 1_000, found[1]


@dataclass
class Visitor:
    """The browser of a visitor: the page, the websocket of its kernel, and the widgets' states."""

    base: str
    token: str
    opened_s: float = 0.0
    built_s: float = 0.0
    said: str = ""
    states: dict[str, dict] = field(default_factory=dict)
    line: WebSocketClientConnection | None = None

    async def open(self) -> None:
        """Open the page, and request the state of all its widgets."""
        began = time.perf_counter()
        page = await AsyncHTTPClient().fetch(
            f"{self.base}?token={self.token}", request_timeout=PATIENCE_S, connect_timeout=60
        )
        cookies = SimpleCookie()
        for told in page.headers.get_list("Set-Cookie"):
            cookies.load(told)
        kernel = re.search(r'"kernelId": "([^"]+)"', page.body.decode())
        assert kernel, "The page names no kernel."
        place = f"{self.base.replace('http', 'ws', 1)}api/kernels/{kernel[1]}/channels"
        headers = {"Cookie": "; ".join(f"{k}={v.value}" for k, v in cookies.items())}
        headers["Origin"] = self.base.rstrip("/")
        request = HTTPRequest(f"{place}?token={self.token}", headers=headers)
        self.line = await websocket_connect(
            request, max_message_size=2**30, subprotocols=[PROTOCOL]
        )
        comm = uuid.uuid4().hex
        await self._tell("comm_open", comm, {}, target_name=TARGET)
        await self._tell("comm_msg", comm, {"method": "request_states"})
        while not self.states:
            heard = await self._hear()
            if heard.get("method") == "update_states":
                self.states = heard["states"]
        self.opened_s = time.perf_counter() - began

    async def build(self) -> None:
        """Press Build, and wait until all methods are built."""
        began = time.perf_counter()
        button = next(
            key
            for key, one in self.states.items()
            if one["model_name"] == "ButtonModel" and one["state"]["description"] == "Build"
        )
        await self._tell("comm_msg", button, {"method": "custom", "content": {"event": "click"}})
        while "spent 1, left 2" not in self.said:
            said = str((await self._hear()).get("state", {}).get("value", ""))
            if "snhkit-built" in said:
                self.said = said
            if re.search(LOST, re.sub("<[^>]*>", "", said)) and "snhkit-error" in said:
                raise SystemExit(f"A build ended: {said}")
        self.built_s = time.perf_counter() - began

    async def _tell(self, kind: str, comm: str, data: dict, **more: str) -> None:
        header = {"msg_id": uuid.uuid4().hex, "msg_type": kind, "session": uuid.uuid4().hex}
        header |= {"username": "", "version": "5.3", "date": ""}
        content = {"comm_id": comm, "data": data, **more}
        message = {"header": header, "parent_header": {}, "metadata": {"version": "1.0.0"}}
        assert self.line is not None
        message["content"] = content
        told = serialize_msg_to_ws_v1(message, "shell", lambda part: json.dumps(part).encode())
        await self.line.write_message(told, binary=True)

    async def _hear(self) -> dict:
        """Return the data of the next message of a widget."""
        assert self.line is not None
        while True:
            told = await asyncio.wait_for(self.line.read_message(), PATIENCE_S)
            if told is None:
                raise SystemExit("A kernel ended.")
            assert isinstance(told, bytes)
            header, _, _, content, *_ = deserialize_msg_from_ws_v1(told)[1]
            if json.loads(header)["msg_type"] == "comm_msg":
                return json.loads(content)["data"]


async def watched(server: psutil.Process, found: list[float]) -> None:
    """Append the memory of the server, in MB, to ``found`` every second."""
    while True:
        found.append((await asyncio.to_thread(pss_mb, server))[0])
        await asyncio.sleep(1)


async def visit(server: psutil.Process, base: str, token: str, count: int) -> None:
    """Open and build for ``count`` visitors at once, and print what was measured."""
    AsyncHTTPClient.configure(None, max_clients=count)
    visitors = [Visitor(base, token) for _ in range(count)]
    print(f"{'':34} {'PSS, MB':>8} {'processes':>10} {'seconds':>22}")

    def told(what: str, memory: float, processes: int | str, seconds: list[float]) -> None:
        times = f"{statistics.median(seconds):.1f}, at most {max(seconds):.1f}" if seconds else ""
        print(f"{what:34} {memory:8,.0f} {processes:>10} {times:>22}", flush=True)

    told("before the first visitor", *pss_mb(server), [])
    seen: list[float] = []
    watching = asyncio.create_task(watched(server, seen))
    await asyncio.gather(*(one.open() for one in visitors))
    told(f"{count} pages open", *pss_mb(server), [one.opened_s for one in visitors])
    await asyncio.gather(*(one.build() for one in visitors))
    told(f"{count} visitors have built", *pss_mb(server), [one.built_s for one in visitors])
    await asyncio.sleep(3)
    told("3 s later", *pss_mb(server), [])
    watching.cancel()
    told("the most at any second", max(seen, default=0), "", [])


def main(visitors: int) -> None:
    """Start the server, measure with a number of visitors, and end the server."""
    with tempfile.TemporaryDirectory() as place:
        homes = ("JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "IPYTHONDIR")
        log = Path(place) / "log"
        with log.open("wb") as told:
            words = [sys.executable, "-c", COMMAND, "explore", "--app", "--class", "--no-browser"]
            server = subprocess.Popen(  # noqa: S603 - our own interpreter and words
                words,
                env={**os.environ, **{name: str(Path(place) / name) for name in homes}},
                stdout=told,
                stderr=told,
            )
        try:
            while not (found := re.search(r"(http://\S+/)\?token=(\w+)", log.read_text())):
                if server.poll() is not None:
                    raise SystemExit(log.read_text())
                time.sleep(0.2)
            asyncio.run(visit(psutil.Process(server.pid), found[1], found[2], visitors))
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(60)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Memory and times of a class on one server.")
    parser.add_argument("--visitors", type=int, default=30)
    main(**vars(parser.parse_args()))
