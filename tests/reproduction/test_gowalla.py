"""The check-ins that SNAP publishes: a headerless file, here a small one of the same form."""

import gzip
import hashlib
import threading
from functools import partial
from http.server import HTTPServer, SimpleHTTPRequestHandler

import numpy as np
import pytest

import snhkit as snh
from snhkit.errors import InputError
from snhkit.reproduction import gowalla

ROWS = [
    "0\t2010-10-19T23:55:27Z\t37.7749\t-122.4194\t22847",
    "0\t2010-10-18T22:17:43Z\t37.7601\t-122.4312\t420315",
    "17\t2010-10-17T23:42:03Z\t25.8012\t-80.2501\t316637",
    "17\t2009-05-17T23:42:03Z\t0.0\t0\t9",
]
TEXT = "\n".join(ROWS) + "\n"


@pytest.fixture(params=["a.txt", "a.tsv", "a.txt.gz"])
def file(request, tmp_path):
    path = tmp_path / request.param
    data = TEXT.encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def test_the_file_is_read_as_it_is_published(file):
    points = gowalla("sf", file)
    assert points.region == snh.city("sf").region
    lat, lon = points.region.to_latlon(points.xy)
    np.testing.assert_allclose(lat, [37.7749, 37.7601])
    np.testing.assert_allclose(lon, [-122.4194, -122.4312])
    assert points.user.tolist() == [0, 0]
    assert len(gowalla("miami", file)) == 1
    with pytest.raises(InputError, match="no row lies in the region"):
        gowalla("boston", file)


def test_read_points_takes_the_file_for_any_region(file):
    city = snh.Region.around(0.01, 0.01, 5_000)
    assert len(snh.read_points(file, city, report=lambda told: None)) == 1


def test_rows_count_from_1_since_there_is_no_header(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text(TEXT.replace("37.7601", "x") + "5\t2010-10-18T22:17:43Z\t1\n")
    told = []
    snh.read_points(path, snh.city("sf").region, report=told.append)
    assert told[0].unusable_rows == (2, 5)
    assert "latitude 'x' is not a number" in told[0].reasons[0]
    assert "3 fields, but the first row has 5" in told[0].reasons[1]
    assert "rows count from 1; the file has no header" in str(told[0])


def test_other_files_without_a_header_are_still_refused(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("37.7\t-122.4\n37.8\t-122.4\n")
    with pytest.raises(InputError, match="add a first row such as lat,lon"):
        snh.read_points(path, snh.city("sf").region)


class Server:
    """A server of one folder on this machine, and the paths that were asked for."""

    def __init__(self, folder) -> None:
        asked = self.asked = []

        class Handler(SimpleHTTPRequestHandler):
            def log_message(self, *told) -> None:
                asked.append(self.path)

        self._server = HTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(folder)))
        self._thread = threading.Thread(target=self._server.serve_forever)

    def __enter__(self) -> "Server":
        self._thread.start()
        return self

    def __exit__(self, *told) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def url(self, name: str) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/{name}"


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """The user's cache folder, here an empty one."""
    pytest.importorskip("pooch")
    folder = tmp_path / "cache"
    monkeypatch.setattr("platformdirs.user_cache_dir", lambda name: str(folder / name))
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    return folder


def test_the_file_is_downloaded_once_and_compared_with_its_checksum(cache, tmp_path):
    site = tmp_path / "site"
    site.mkdir()
    data = gzip.compress(TEXT.encode())
    (site / "checkins.txt.gz").write_bytes(data)
    right = f"sha256:{hashlib.sha256(data).hexdigest()}"
    with Server(site) as server:
        url = server.url("checkins.txt.gz")
        for _ in range(2):
            assert len(gowalla("sf", url=url, checksum=right)) == 2
        assert server.asked == ["/checkins.txt.gz"]
        with pytest.raises(InputError, match="is not md5:00, so the file was deleted"):
            gowalla("sf", url=server.url("checkins.txt.gz?"), checksum="md5:00")
        with pytest.raises(InputError, match=r"could not be downloaded .HTTPError"):
            gowalla("sf", url=server.url("nothing.txt.gz"), checksum=right)
    assert [path.name for path in (cache / "snhkit" / "gowalla").iterdir()] == ["checkins.txt.gz"]


def test_without_a_network_the_message_says_what_to_do(cache):
    with pytest.raises(InputError, match=r"could not be downloaded .*gowalla\(city, path\)"):
        gowalla("sf", url="http://127.0.0.1:9/a.txt.gz", checksum="md5:00")


def test_without_pooch_the_message_names_the_extra(monkeypatch):
    module = __import__("snhkit.reproduction.gowalla", fromlist=["find_spec"])
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"snhkit\[download\].*loc-gowalla_totalCheckins"):
        gowalla("sf")


def test_a_path_needs_no_address(tmp_path):
    with pytest.raises(InputError, match="not both"):
        gowalla("sf", tmp_path / "a.txt", url="http://127.0.0.1/a")
