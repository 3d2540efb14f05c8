"""The explorer's server: Voila's own, with a guard that keeps one visitor from stopping the others.

Apart from ``launch.py``, since Voila is imported only when the app is served.
"""

import asyncio
import webbrowser
from pathlib import Path
from typing import Any

import psutil
from tornado.web import HTTPError, authenticated
from voila.app import Voila
from voila.shutdown_kernel_handler import VoilaShutdownKernelHandler
from voila.tornado.handler import TornadoVoilaHandler
from voila.tornado.kernel_websocket_handler import VoilaKernelWebsocketHandler

_PROTOCOL = "v1.kernel.websocket.jupyter.org"
_MOST_BYTES = 2**20  # the longest message is the saved state of an earlier visit
_LEAST_S = 0.005  # between two messages of a page
_BYTES_S = 10_000_000
_KERNEL_BYTES = 600_000_000  # of a visitor who has built, and some to spare


class GuardedSocket(VoilaKernelWebsocketHandler):
    """The websocket between a page and its kernel, for well-formed messages at a bounded rate.

    Other messages could keep the server's only thread busy without end (SECURITY.md).
    """

    max_message_size = _MOST_BYTES  # type: ignore[assignment] - a property of tornado's handler

    async def get(self, kernel_id: str) -> None:
        """Open the socket, if the page speaks the second protocol."""
        offered = self.request.headers.get("Sec-WebSocket-Protocol", "")
        if _PROTOCOL not in (word.strip() for word in offered.split(",")):
            raise HTTPError(400, f"The websocket needs the subprotocol {_PROTOCOL}.")
        await super().get(kernel_id)

    def select_subprotocol(self, subprotocols: list[str]) -> str:
        """Return the second protocol, whatever Jupyter's configuration prefers."""
        return _PROTOCOL

    async def on_message(self, message: str | bytes) -> None:
        """Pass a message to the kernel; tornado reads the next one when this returns."""
        if not whole(message):
            self.close(1007, "not a message of " + _PROTOCOL)
            return
        super().on_message(message)
        await asyncio.sleep(max(_LEAST_S, len(message) / _BYTES_S))


class Closing(VoilaShutdownKernelHandler):
    """The end of a kernel, for which a browser asks when its page is closed."""

    def check_xsrf_cookie(self) -> None:
        """Let the request pass: it cannot state the cookie, and no other page knows the kernel."""


class GuardedPage(TornadoVoilaHandler):
    """The page of a visitor, each with a kernel, for as many as the memory of the machine holds."""

    most = max(psutil.virtual_memory().total // _KERNEL_BYTES, 1)
    starting = asyncio.Semaphore(4)  # pages whose kernels may not be counted yet

    @authenticated
    async def get(self, path: str | None = None) -> None:
        """Send the page, unless the pages that are open fill the memory."""
        async with self.starting:
            if len(self.kernel_manager.list_kernel_ids()) >= self.most:
                raise HTTPError(503, f"{self.most} pages are open; try again in five minutes.")
            await super().get(path)  # pyright: ignore[reportGeneralTypeIssues] - of tornado


class ExplorerApp(Voila):
    """A Voila server that passes its access token to the browser in a file.

    The token is not on a command line, because all users of the machine can read those.
    """

    def launch_browser(self) -> None:
        """Open a file of this user that leads to the page."""
        page = Path(self.root_dir) / "open.html"
        redirect = f"<meta http-equiv='refresh' content='0;url={self.display_url}'>"
        page.write_text(redirect, encoding="utf-8")
        webbrowser.open(page.as_uri())

    def init_handlers(self) -> Any:
        """Return Voila's handlers, with three of this file in place of its own."""
        ours = {
            VoilaKernelWebsocketHandler: GuardedSocket,
            VoilaShutdownKernelHandler: Closing,
            TornadoVoilaHandler: GuardedPage,
        }
        handlers: Any = super().init_handlers()
        return [(path, ours.get(kind, kind), *rest) for path, kind, *rest in handlers]


def whole(message: str | bytes) -> bool:
    """Return whether a message of the second protocol states the offsets of its own parts."""
    if isinstance(message, str) or len(message) < 8:
        return False
    count = int.from_bytes(message[:8], "little")
    if not 1 < count < len(message) // 8:
        return False
    ends = [int.from_bytes(message[8 * k : 8 * k + 8], "little") for k in range(1, count + 1)]
    return ends == sorted(ends) and 8 * (count + 1) <= ends[0] and ends[-1] <= len(message)
