"""The running of notebooks, for ``snhkit course``, the tests and the documentation.

``nbclient`` communicates with ``Output`` widgets over the same socket on which it waits for the
reply to a cell. ZeroMQ signals each message once. If the reply arrives during that communication,
the signal is lost, and the wait lasts until the cell's time limit. The channel in this module
therefore polls the socket every second.
"""

import tempfile
import time
from os import PathLike, fspath
from queue import Empty
from typing import Any

import nbformat
from jupyter_client.asynchronous.client import AsyncKernelClient
from jupyter_client.channels import AsyncZMQSocketChannel
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from traitlets import Type, default

from snhkit.errors import InputError

_LONGEST_S = 600  # time limit of one cell
_POLL_S = 1.0


class _Channel(AsyncZMQSocketChannel):
    async def get_msg(self, timeout: float | None = None) -> dict[str, Any]:
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            left = _POLL_S if end is None else end - time.monotonic()
            try:
                return await super().get_msg(max(0, min(left, _POLL_S)))
            except Empty:
                if left <= _POLL_S and end is not None:
                    raise


class _Client(AsyncKernelClient):
    shell_channel_class = Type(_Channel)


class _Manager(AsyncKernelManager):
    @default("client_factory")
    def _client_factory_default(self) -> Any:
        return _Client


def notebook_client(
    notebook: nbformat.NotebookNode, folder: str | PathLike[str], longest_s: int
) -> NotebookClient:
    """Return a client that runs a notebook in a fresh Python kernel."""
    return NotebookClient(
        notebook,
        timeout=longest_s,
        kernel_name="python3",
        kernel_manager_class=_Manager,
        resources={"metadata": {"path": fspath(folder)}},
    )


def run(notebook: dict[str, Any]) -> dict[str, Any]:
    """Run a notebook in an empty folder, and return a copy with the outputs of the cells."""
    cells = [{**cell, "source": "".join(cell["source"])} for cell in notebook["cells"]]
    content: Any = nbformat.from_dict({**notebook, "cells": cells})
    with tempfile.TemporaryDirectory(prefix="snhkit-") as folder:
        try:
            notebook_client(content, folder, _LONGEST_S).execute()
        except CellExecutionError as error:
            raise InputError(f"The notebook cannot be run: {error}") from None
    return content
