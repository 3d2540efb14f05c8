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

__all__ = ["ReleaseFolder"]


@dataclass(frozen=True)
class ReleaseFolder:
    """A folder of release files beside the private records, with ``.releases`` after their name.

    ``records`` is the path of the records or, if the ledger has a path of its own, that of the
    ledger without ``.ledger``.
    """

    records: Path

    @property
    def path(self) -> Path:
        """The path of the folder, which is created when the first release is saved."""
        return self.records.with_name(self.records.name + ".releases")

    def keep(self, name: str, release: Release) -> Path:
        """Write a release to a new file and return its path."""
        try:
            self.path.mkdir(exist_ok=True)
        except OSError as error:
            raise InputError(
                f"{self.path}: the folder cannot be created ({error.strerror})."
            ) from None
        stem = re.sub(r"[^a-z0-9.]+", "-", name.lower()).strip("-")
        file, k = self.path / f"{stem}.snh", 1
        while file.exists():
            k += 1
            file = self.path / f"{stem}-{k}.snh"
        write_whole(file, release.to_bytes())
        return file

    def releases(self, region: Region) -> Iterator[Release]:
        """Yield the saved releases of a region, oldest first; files of other kinds are skipped."""
        if not self.path.is_dir():
            return
        for file in sorted(self.path.glob("*.snh"), key=lambda file: file.stat().st_mtime):
            try:
                release = load(file).total()
            except SnhkitError:  # a file of another program or version
                continue
            if release.region == region:
                yield release
