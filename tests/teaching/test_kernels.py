import asyncio
from queue import Empty

import nbformat
import pytest
from jupyter_client.channels import AsyncZMQSocketChannel

from snhkit.teaching.kernels import _Channel, notebook_client


@pytest.fixture
def asked(monkeypatch):
    """The waits of a socket that tells of its message at the third question only."""
    waits = []

    async def get_msg(self, timeout):
        waits.append(timeout)
        if len(waits) < 3:
            raise Empty
        return {"id": 3}

    monkeypatch.setattr(AsyncZMQSocketChannel, "get_msg", get_msg)
    return waits


@pytest.mark.parametrize("timeout", [None, 400])
def test_a_message_that_the_socket_did_not_tell_of_is_found_within_a_second(asked, timeout):
    assert asyncio.run(_Channel.get_msg(object.__new__(_Channel), timeout)) == {"id": 3}
    assert asked == [1, 1, 1]


def test_a_wait_ends_with_its_time(asked):
    with pytest.raises(Empty):
        asyncio.run(_Channel.get_msg(object.__new__(_Channel), 0.5))
    assert asked == [pytest.approx(0.5, abs=0.1)]


@pytest.mark.filterwarnings("ignore:.*(zmq|socket|event loop):ResourceWarning")
def test_the_client_runs_a_notebook_through_such_a_channel(tmp_path):
    cell = nbformat.v4.new_code_cell("6 * 7")
    client = notebook_client(nbformat.v4.new_notebook(cells=[cell]), tmp_path, 60)
    with client.setup_kernel():
        assert isinstance(client.kc.shell_channel, _Channel)
        assert client.execute_cell(cell, 0).outputs[0].data["text/plain"] == "42"
