"""The input of the demonstration: a text file, standard input, or the history of a git repository."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

import attrs

from kafkatx.errors import SettingError

GIT_LOG = ("git", "log", "--format=%ae %aI %h %s")
"""One commit a line: author, date, hash, subject."""

MAX_KEY_BYTES = 256
_COMPRESSED = {
    b"\x1f\x8b": "gunzip",
    b"BZh91AY&SY": "bunzip2",
    b"\xfd7zXZ\0": "unxz",
    b"(\xb5/\xfd": "unzstd",
    b"PK\x03\x04": "unzip",
}


@attrs.frozen
class Lines:
    """Lines to be read once; ``size_bytes`` is None where it is not known before the end."""

    title: str
    stream: IO[bytes]
    size_bytes: int | None

    def __iter__(self) -> Iterator[bytes]:
        """Yield each line without its newline."""
        for line in self.stream:
            yield line[:-1] if line.endswith(b"\n") else line


@contextmanager
def open_lines(path: str | None) -> Iterator[Lines]:
    """Open the lines of a file, of standard input (``-``), or of the git repository around (None).

    :raises SettingError: there is nothing to be read; the message is one line.
    """
    if path is None:
        with _git_log() as lines:
            yield lines
    elif path == "-":
        yield Lines("standard input", sys.stdin.buffer, None)
    else:
        with _open(path) as stream:
            yield Lines(path, stream, os.fstat(stream.fileno()).st_size)


def _open(path: str) -> IO[bytes]:
    try:
        stream = open(path, "rb")  # noqa: SIM115  # the caller closes it
    except OSError as error:
        raise SettingError(f"cannot read {path}: {(error.strerror or str(error)).lower()}") from None
    if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
        return stream
    head = stream.peek()
    for magic, unpack in _COMPRESSED.items():
        if head.startswith(magic):
            stream.close()
            raise SettingError(f"{path} is compressed, and only plain text is read: unpack it with {unpack}")
    return stream


@contextmanager
def _git_log() -> Iterator[Lines]:
    hint = "name a file to read instead: make demo INPUT=FILE"
    try:
        tried = subprocess.run([*GIT_LOG, "--max-count=1"], capture_output=True)
    except FileNotFoundError:
        raise SettingError(f"git is not installed; {hint}") from None
    if tried.returncode:
        wrong = tried.stderr.decode(errors="replace").strip().splitlines()
        raise SettingError(f"git log: {wrong[0] if wrong else 'failed'}; {hint}")
    with subprocess.Popen(GIT_LOG, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        yield Lines("git log", process.stdout, None)


def first_field(line: bytes) -> bytes | None:
    """Return the text before the first white space, up to 256 bytes, as the record's key; None in a blank
    line.
    """
    fields = line[:MAX_KEY_BYTES].split(None, 1)
    return fields[0] if fields else None
