"""Writing files so that nobody ever finds half of one."""

import contextlib
import os
import tempfile
from pathlib import Path

from snhkit.errors import InputError

__all__ = ["write_whole"]


def write_whole(path: str | os.PathLike[str], content: bytes | str) -> Path:
    """Write a file beside its final place, then move it there in one step.

    Parameters
    ----------
    path : str or path
        Where; an existing file is replaced.
    content : bytes or str
        All of it; text is written as UTF-8.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    InputError
        If the place cannot be written; what was there before is untouched.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_whole(Path(folder) / "a.txt", "whole").read_text()
    'whole'
    """
    target = Path(path)
    data = content.encode() if isinstance(content, str) else content
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    except OSError as error:
        raise InputError(f"{target}: cannot be written ({error.strerror}).") from None
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        umask = os.umask(0)
        os.umask(umask)
        Path(name).chmod(0o666 & ~umask)
        Path(name).replace(target)
    except BaseException as error:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        if isinstance(error, OSError):
            raise InputError(f"{target}: cannot be written ({error.strerror}).") from None
        raise
    return target
