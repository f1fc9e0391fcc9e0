"""The files of the console's pages, which are kept in memory. It reads files, in a worker.

A request finds a file in a dict of their names, so no path leads out of the folder.
"""

from __future__ import annotations

import gzip
import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import attrs
from twisted.internet.defer import Deferred, succeed

from kafkatx.interfaces import Worker
from kafkatx.web.calls import Answer, Call, WebError

FOLDER = Path(__file__).parent.parent / "static"
SHELL = "index.html"

TYPES: Mapping[str, str] = MappingProxyType(
    {
        ".html": "text/html; charset=utf-8",
        ".js": "text/javascript; charset=utf-8",
        ".css": "text/css; charset=utf-8",
        ".json": "application/json",
        ".svg": "image/svg+xml",
        ".png": "image/png",
        ".ico": "image/x-icon",
        ".woff2": "font/woff2",
    }
)
"""The types of files by the ends of their names; others are plain text."""

PLAIN = "text/plain; charset=utf-8"
MOST_BYTES = 8 << 20
"""The size of all files; further ones are left out."""

_SMALL = 1024


@attrs.frozen
class StaticFile:
    """A file.

    :ivar tag: its strong entity tag, without quotes.
    :ivar packed: the content in gzip's format; None if that is hardly smaller.
    """

    content: bytes
    content_type: str
    tag: str
    packed: bytes | None = None


class StaticFiles:
    """The files of a folder; those of the first request stay.

    :param worker: reads them.
    """

    def __init__(self, worker: Worker, folder: Path = FOLDER) -> None:
        self._worker = worker
        self._folder = folder
        self._files: Mapping[str, StaticFile] | None = None

    def load(self) -> Deferred[Mapping[str, StaticFile]]:
        """Return all files by their paths below the folder."""
        if self._files is not None:
            return succeed(self._files)

        def keep(files: Mapping[str, StaticFile]) -> Mapping[str, StaticFile]:
            self._files = files
            return files

        return self._worker(lambda: read_files(self._folder)).addCallback(keep)

    async def answer(self, call: Call, path: Sequence[str]) -> Answer:
        """Answer with a file, or say that the client has it.

        :raises WebError: 404: there is none.
        """
        found = (await self.load()).get("/".join(path))
        if found is None:
            raise WebError(404, "there is no such page of the console")
        packs = found.packed is not None and "gzip" in call.headers.get("accept-encoding", "")
        tag = f'"{found.tag}{"-gzip" if packs else ""}"'
        headers = {"ETag": tag, "Cache-Control": "no-cache", "Vary": "Accept-Encoding"}
        known = {each.strip() for each in call.headers.get("if-none-match", "").split(",")}
        if tag in known or "*" in known:
            return Answer(304, b"", found.content_type, headers)
        if packs and found.packed is not None:
            return Answer(200, found.packed, found.content_type, {**headers, "Content-Encoding": "gzip"})
        return Answer(200, found.content, found.content_type, headers)


def read_files(folder: Path) -> Mapping[str, StaticFile]:
    """Read all files below a folder; links and names that begin with a dot are left out."""
    files: dict[str, StaticFile] = {}
    left = MOST_BYTES
    for directory, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = Path(directory, name)
            if name.startswith(".") or path.is_symlink():
                continue
            content = path.read_bytes()
            left -= len(content)
            if left < 0:
                return files
            files[path.relative_to(folder).as_posix()] = _file(name, content)
    return files


def _file(name: str, content: bytes) -> StaticFile:
    kind = TYPES.get(os.path.splitext(name)[1].lower(), PLAIN)
    tag = hashlib.sha256(content).hexdigest()[:32]
    packed = (
        gzip.compress(content, mtime=0) if len(content) > _SMALL and not kind.startswith("image/p") else None
    )
    return StaticFile(content, kind, tag, packed)
