"""An archive of texts, ``.tar.gz``, with bounds on each of them and on all. It writes one file."""

from __future__ import annotations

import io
import os
import tarfile
import time
from collections.abc import Callable, Mapping, Sequence

from kafkatx.cli.debug.redaction import Redaction
from kafkatx.errors import KafkaTXError

MOST_FILE_BYTES = 8 << 20
MOST_BYTES = 64 << 20
"""Bounds of the texts before they are compressed."""

CUT = "[the rest was left out: the archive is bounded]\n"


class Archive:
    """The archive; a context manager. Texts lose their secrets on the way into it.

    :param path: the new file, readable by its user alone.
    :raises OSError: it exists, or cannot be made.
    """

    def __init__(self, path: str, redaction: Redaction) -> None:
        self._redaction = redaction
        self._left = MOST_BYTES
        self._problems: list[str] = []
        self._folder = os.path.basename(path).split(".")[0]
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        self._file = open(descriptor, "wb")  # noqa: SIM115 - closed with the archive
        self._tar = tarfile.open(fileobj=self._file, mode="w:gz")  # noqa: SIM115

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.add("problems.txt", "".join(f"{problem}\n" for problem in self._problems) or "none\n")
        self._tar.close()
        self._file.close()

    @property
    def problems(self) -> Sequence[str]:
        """The texts that could not be gathered, and why."""
        return self._problems

    def add(self, name: str, text: str) -> None:
        """Add a text; what is above the bounds is cut off."""
        clean = self._redaction.text(text)
        most = max(0, min(MOST_FILE_BYTES, self._left))
        data = clean.encode("utf-8", "replace")
        if len(data) > most:
            data = data[: max(0, most - len(CUT))] + CUT.encode()
        self._left -= len(data)
        member = tarfile.TarInfo(f"{self._folder}/{name}")
        member.size, member.mode, member.mtime = len(data), 0o600, int(time.time())
        self._tar.addfile(member, io.BytesIO(data))

    def add_settings(self, name: str, values: Mapping[str, str]) -> None:
        """Add settings without secrets."""
        self.add(name, "".join(f"{key}={value}\n" for key, value in self._redaction.settings(values).items()))

    def note(self, problem: str) -> None:
        """Note a problem."""
        self._problems.append(problem)

    def gather(self, name: str, read: Callable[[], str]) -> None:
        """Add what a function returns; if it fails, the reason is noted."""
        try:
            text = read()
        except (KafkaTXError, OSError, ValueError) as error:
            self._problems.append(f"{name}: {error}")
        else:
            self.add(name, text)
