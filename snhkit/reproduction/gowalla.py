"""Check-ins of the social network Gowalla in twelve cities."""

import json
import os
from functools import cache
from importlib import resources
from importlib.util import find_spec
from pathlib import Path

from snhkit.data.cities import City, city
from snhkit.data.records import read_points
from snhkit.errors import InputError
from snhkit.geometry import Points


def gowalla(
    name: str | City,
    path: str | os.PathLike[str] | None = None,
    *,
    url: str | None = None,
    checksum: str | None = None,
) -> Points:
    """Return the check-ins of the social network Gowalla in one of twelve cities.

    Parameters
    ----------
    name : str or City
        The city, or its key, such as "milwaukee".
    path : str or path, optional
        A .txt or .txt.gz file in the format of the Stanford Network Analysis Project (SNAP): rows
        of user, time, latitude, longitude and venue, separated by tabs and without a header. By
        default, SNAP's file (105 MB) is downloaded once into the user's cache folder, for which
        the package must be installed as ``snhkit[download]``.
    url : str, optional
        The address from which the file is downloaded; by default that of SNAP.
    checksum : str, optional
        The checksum of the file at ``url``, such as "sha256:..."; by default that of SNAP's file.

    Returns
    -------
    Points
        The check-ins in the city's region, with the user of each check-in.

    Raises
    ------
    InputError
        If the city is unknown, the file cannot be downloaded or has another checksum, or it holds
        no check-in in the city.

    Notes
    -----
    Cho, Myers and Leskovec, "Friendship and mobility: user movement in location-based social
    networks", KDD 2011. The file has 6.4 million check-ins from February 2009 to October 2010. In
    Sec. 6.1 of the SNH paper, it is the data set GW, and the public data of other experiments.
    """
    place = city(name)
    if path is None:
        address = _published()
        path = _downloaded(url or address["url"], checksum or address["hash"])
    elif url is not None or checksum is not None:
        raise InputError("gowalla: give either a path, or a url with its checksum, not both.")
    # Almost all rows lie outside the city, which is not a defect to report.
    return read_points(path, place.region, report=lambda told: None)


def _downloaded(url: str, checksum: str) -> Path:
    """Return a file of the cache folder with this checksum; download it if it is missing."""
    if find_spec("pooch") is None:
        raise InputError(
            'the package pooch is not installed: pip install "snhkit[download]". Or download '
            f"{url} by other means, and give its path."
        )
    import platformdirs
    import pooch
    import requests

    folder = Path(platformdirs.user_cache_dir("snhkit")) / "gowalla"
    try:
        return Path(
            pooch.retrieve(
                url, checksum, fname=url.rpartition("/")[2], path=folder, progressbar=True
            )
        )
    except (requests.RequestException, OSError) as error:
        reason = type(error).__name__
        raise InputError(
            f"{url}: could not be downloaded ({reason}). Download it by other means, and give its "
            "path: gowalla(city, path)."
        ) from None
    except ValueError:
        raise InputError(
            f"{url}: the checksum of the downloaded file is not {checksum}, so the "
            "file was deleted."
        ) from None


@cache
def _published() -> dict[str, str]:
    text = resources.files("snhkit.reproduction").joinpath("gowalla.json").read_text("utf-8")
    return json.loads(text)
