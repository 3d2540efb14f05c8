"""The folder in which the releases of a file of private records are saved."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from snhkit.errors import InputError, SnhkitError
from snhkit.files import write_whole
from snhkit.geometry import Region
from snhkit.loading import load
from snhkit.release import Release

__all__ = ["Shelf"]


@dataclass(frozen=True)
class Shelf:
    """A folder of release files beside the private records.

    The files make releases available after the explorer is closed.

    Parameters
    ----------
    records : Path
        Path of the records or, if the ledger has a path of its own, the path of the ledger without
        the ending ``.ledger``. The folder has this path with ``.releases`` added.

    Examples
    --------
    >>> Shelf(Path("trips.csv")).folder
    PosixPath('trips.csv.releases')
    """

    records: Path

    @property
    def folder(self) -> Path:
        """The path of the folder, which is created when the first release is saved."""
        return self.records.with_name(self.records.name + ".releases")

    def keep(self, name: str, release: Release) -> Path:
        """Write a release to a new file and return its path.

        Raises
        ------
        InputError
            If the folder cannot be created.
        """
        try:
            self.folder.mkdir(exist_ok=True)
        except OSError as error:
            raise InputError(
                f"{self.folder}: the folder cannot be created ({error.strerror})."
            ) from None
        stem = re.sub(r"[^a-z0-9.]+", "-", name.lower()).strip("-")
        path, k = self.folder / f"{stem}.snh", 1
        while path.exists():
            k += 1
            path = self.folder / f"{stem}-{k}.snh"
        write_whole(path, release.to_bytes())
        return path

    def releases(self, region: Region) -> Iterator[Release]:
        """Yield the saved releases of a region, oldest first; files of other kinds are skipped."""
        if not self.folder.is_dir():
            return
        for path in sorted(self.folder.glob("*.snh"), key=lambda path: path.stat().st_mtime):
            try:
                release = load(path)
            except SnhkitError:  # a file of another program or version
                continue
            if release.region == region:
                yield release
