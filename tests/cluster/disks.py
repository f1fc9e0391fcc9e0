"""Disks of brokers: a tmpfs each where root is, which can be filled and made read-only; else folders."""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress
from pathlib import Path

SIZE_MB = 1024
_FILLER = "filler"


class Disk:
    """The disk of a broker.

    :ivar folder: the broker's log dir, on it.
    :ivar real: True if it is a disk of its own.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        path.mkdir(parents=True)
        self.real = os.geteuid() == 0 and _done(
            "mount", "-t", "tmpfs", "-o", f"size={SIZE_MB}m", "tmpfs", str(path)
        )
        self.folder = path / "logs"
        self.folder.mkdir()

    def fill(self) -> None:
        """Take all free room."""
        with open(self._path / _FILLER, "wb", buffering=0) as file, suppress(OSError):
            block = bytes(1 << 20)
            while file.write(block) == len(block):
                pass
        with open(self._path / _FILLER, "ab", buffering=0) as file, suppress(OSError):
            while True:
                file.write(bytes(512))

    def empty(self) -> None:
        """Give back what :meth:`fill` took."""
        with suppress(FileNotFoundError):
            os.unlink(self._path / _FILLER)

    def protect(self) -> bool:
        """Make all folders immutable: no file is made or removed. Return False if that is impossible."""
        return all(_done("chattr", "+i", str(folder)) for folder in self._folders())

    def release(self) -> None:
        """Undo :meth:`protect`."""
        for folder in self._folders():
            _done("chattr", "-i", str(folder))

    def close(self) -> None:
        """Give up the disk with its files, if it is one of its own."""
        if self.real:
            self.release()
            _done("umount", "--lazy", str(self._path))

    def _folders(self) -> list[Path]:
        return [self.folder, *(path for path in self.folder.iterdir() if path.is_dir())]


def _done(*command: str) -> bool:
    """Run a command; return True if it has succeeded."""
    try:
        return subprocess.run(command, capture_output=True).returncode == 0
    except OSError:
        return False
