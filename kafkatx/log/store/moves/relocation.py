"""Moves of a partition's log from one log dir to another while it is read and written (KIP-113).

The files are copied to ``<topic>-<partition>.<32 hex digits>-future`` in the other dir, round after round, in
a worker, until little is missing. Then the log's flushes are held, what came last is copied in the reactor
thread (at most ``TAIL_BYTES``, which are in memory), the copy gets the name, and the log, the same
object as before, goes on in it. The old directory is put aside once the new one is on the disk.

What a crash leaves, by the step that it comes after:

==========================  =========================================  ==================================
step                        what is there                              what the next start does
==========================  =========================================  ==================================
copying                     ``A/t-0``, ``B/t-0.<hex>-future``          removes the copy
the copy got the name       ``A/t-0``, ``B/t-0`` with ``moved-from``   puts ``A/t-0`` aside, keeps the new
``A/t-0`` was put aside     ``B/t-0`` with ``moved-from``              nothing; the note is worth nothing
==========================  =========================================  ==================================

A record counts as flushed only where the directory that the next start would choose has it on the disk:
flushes that are asked for while they are held begin in the new place.
"""

from __future__ import annotations

import contextlib
import os
import re
import uuid
from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import attrs
from twisted.logger import Logger

from kafkatx.log.checkpoint import LEADER_EPOCHS, PARTITION_METADATA, TRANSACTION_CHECKSUMS
from kafkatx.log.files import Files
from kafkatx.log.segment.files import INDEX, LOG, SNAPSHOT, TIME_INDEX, TRANSACTION_INDEX, file_name
from kafkatx.log.segment.segment import LogSegment

if TYPE_CHECKING:
    from kafkatx.interfaces import ILogDir, Worker
    from kafkatx.log.partition.file_log import FileLog

MOVED_FROM = "moved-from"
"""The file in a copy that names the directory it is a copy of."""

TAIL_BYTES = 1 << 20
"""The most that is copied in the reactor thread, which writes as much for one produce request."""

CHUNK_BYTES = 8 << 20
"""Bytes that are copied between two checks for cancellation."""

HELD_ROUNDS = 10
"""The most rounds for which flushes are held: a log may grow faster than it is copied."""

_NAMED = (LEADER_EPOCHS, PARTITION_METADATA, TRANSACTION_CHECKSUMS)
_SMALL = (SNAPSHOT, TRANSACTION_INDEX)
"""The files that are copied as a whole. The log itself writes what is added to the last ones meanwhile."""

_MOVED = re.compile(r"(.+)\.[0-9a-f]{32}-moved")
_FUTURE = re.compile(r".+\.[0-9a-f]{32}-future")
_MAX_NAME = 255


_log = Logger()


class SourceFailed(OSError):
    """The log that is copied cannot be read: the disk that it is on is at fault."""


class Stopped(Exception):
    """The move was cancelled: the log was deleted, is to go elsewhere, or a dir is offline."""


@attrs.frozen
class Part:
    """One file of a segment: its suffix, and how much of it there was."""

    segment: LogSegment
    suffix: str
    size: int

    @property
    def name(self) -> str:
        """The file's name."""
        return file_name(self.segment.base_offset, self.suffix)


@attrs.frozen
class Shape:
    """The segments and files of a log at one moment."""

    segments: tuple[LogSegment, ...]
    parts: tuple[Part, ...]
    cuts: int
    end_offset: int

    @classmethod
    def of(cls, log: FileLog) -> Shape:
        """Return the present shape of a log. Reactor thread."""
        segments = tuple(log.segments)
        parts = [part for segment in segments for part in _parts(segment)]
        return cls(segments, tuple(parts), log.cuts, log.log_end_offset)


def _parts(segment: LogSegment) -> list[Part]:
    """Return the files of a segment; the size of an index that is not in memory is -1."""
    found = [Part(segment, LOG, segment.size)]
    for suffix, index in ((INDEX, segment.index), (TIME_INDEX, segment.time_index)):
        size = len(index) * index.entry.size if index.loaded else -1
        found.append(Part(segment, suffix, size))
    return found


class Copy:
    """The copy of a log in another dir. All but :meth:`add_tail` and :meth:`take_name` runs in a worker.

    :ivar directory: where it is.
    :ivar whole: the files of segments that were closed when they were copied: nothing is added to those.
    """

    def __init__(self, files: Files, source: str, target_dir: str) -> None:
        self._files = files
        self.source = source
        name = os.path.basename(source)
        suffix = f".{uuid.uuid4().hex}-future"
        self.directory = os.path.join(target_dir, name[: _MAX_NAME - len(suffix)] + suffix)
        self.final = os.path.join(target_dir, name)
        self.size_bytes = 0
        self._copied: dict[tuple[int, str], int] = {}
        self._segments: set[LogSegment] = set()
        self._others: dict[str, tuple[int, int]] = {}
        self.whole: set[tuple[LogSegment, str]] = set()

    def make(self) -> None:
        """Make the directory; the note of its origin is written first.

        :raises OSError: it cannot be made, or there is a partition of that name.
        """
        if self._files.exists(self.final):
            raise FileExistsError(f"{self.final} is in the way")
        self._files.make_dirs(self.directory)
        self._files.replace(os.path.join(self.directory, MOVED_FROM), self.source.encode())

    def remove(self) -> None:
        """Remove it; the log stays where it was."""
        remove_copy(self._files, self.directory)

    def forget(self) -> None:
        """Forget what was copied: the log was truncated, and its files may differ now."""
        self._segments.clear()
        self.whole.clear()

    def is_whole(self, part: Part) -> bool:
        """Return True if nothing of a file is missing, as far as is known without a look at it."""
        if (part.segment, part.suffix) in self.whole:
            return True
        copied = self._copied.get((part.segment.base_offset, part.suffix))
        return part.segment in self._segments and copied == part.size

    def drop_old(self, shape: Shape) -> None:
        """Remove the copies of files that the log has no more."""
        for segment in self._segments - set(shape.segments):
            self._segments.discard(segment)
            self.whole -= {(segment, suffix) for suffix in (LOG, INDEX, TIME_INDEX)}
            for suffix in (LOG, INDEX, TIME_INDEX):
                self._copied.pop((segment.base_offset, suffix), None)
        keep = {part.name for part in shape.parts}
        for name in self._files.names(self.directory):
            copied = name.endswith((LOG, INDEX, TIME_INDEX))
            if copied and name not in keep:
                self._files.unlink(os.path.join(self.directory, name))

    def copy(self, part: Part) -> bool:
        """Copy what is missing of a file, at most ``CHUNK_BYTES``; return False if there is more.

        :raises OSError: it cannot be read or written.
        """
        key = (part.segment.base_offset, part.suffix)
        if part.segment not in self._segments or 0 <= part.size < self._copied.get(key, 0):
            for suffix in (LOG, INDEX, TIME_INDEX):
                self._copied.pop((part.segment.base_offset, suffix), None)
            self._segments.add(part.segment)
        done = self._copied.get(key, 0)
        source = os.path.join(self.source, part.name)
        target = os.path.join(self.directory, part.name)
        size = part.size if part.size >= 0 else self._files.size(source)
        if key in self._copied and done >= size:
            return True
        file = self._files.create(target) if key not in self._copied else self._files.open(target)
        count = min(size - done, CHUNK_BYTES)
        if count:
            self._files.writev(file, [self._read(source, count, done)], done, count)
        self._files.sync(file)
        self._copied[key] = done + count
        self.size_bytes += count
        return done + count >= size

    def _read(self, path: str, size: int, position: int) -> bytes:
        """Read a part of one of the log's files.

        :raises SourceFailed: it cannot be read.
        :raises FileNotFoundError: it is not there any more, or is another by now.
        """
        try:
            data = self._files.pread(self._files.open(path, os.O_RDONLY), size, position)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise SourceFailed(error.errno, error.strerror, path) from error
        if len(data) < size:
            raise FileNotFoundError(f"{path} is shorter than it was")
        return data

    def copy_others(self) -> None:
        """Copy the other files of the directory: epochs, topic id, producers, transactions."""
        names = self._files.names(self.source)
        for name in self._files.names(self.directory):
            if name.endswith(_SMALL) and name not in names:
                self._files.unlink(os.path.join(self.directory, name))
        for name in names:
            if name not in _NAMED and not name.endswith(_SMALL):
                continue
            path = os.path.join(self.source, name)
            stamp = (self._files.size(path), self._files.mtime_ms(path))
            if self._others.get(name) == stamp and name != LEADER_EPOCHS:
                continue
            data = self._files.read(path)
            if data is not None:
                self._files.replace(os.path.join(self.directory, name), data)
                self._others[name] = stamp
        self._files.sync_dir(self.directory)

    def fits(self, shape: Shape, log: FileLog) -> bool:
        """Return True if only a short end of the active segment is missing. Reactor thread."""
        if tuple(log.segments) != shape.segments or log.cuts != shape.cuts:
            return False
        if log.flushed_offset > shape.end_offset:
            return False
        active = log.segments[-1]
        tail = active.size - self._copied[active.base_offset, LOG]
        return not tail or (active.index.loaded and active.time_index.loaded and tail <= TAIL_BYTES)

    def add_tail(self, log: FileLog) -> None:
        """Copy what was appended to the active segment since. Reactor thread.

        :raises OSError: it cannot be copied; nothing has changed for the log.
        """
        for part in _parts(log.segments[-1]):
            done = self._copied[part.segment.base_offset, part.suffix]
            if part.size > done:
                data = self._read(os.path.join(self.source, part.name), part.size - done, done)
                target = self._files.open(os.path.join(self.directory, part.name))
                self._files.writev(target, [data], done, part.size - done)
        epochs = self._files.read(os.path.join(self.source, LEADER_EPOCHS))
        if epochs is not None:
            self._files.replace(os.path.join(self.directory, LEADER_EPOCHS), epochs, sync=False)

    def take_name(self) -> None:
        """Rename the copy to the partition's name. Reactor thread.

        :raises OSError: it keeps its old name.
        """
        self._files.rename(self.directory, self.final)


def remove_copy(files: Files, directory: str) -> None:
    """Remove a copy.

    It is renamed first: a part of a copy, perhaps without the note, would not be recognised.
    """
    if files.exists(directory):
        doomed = directory.removesuffix("-future") + "-moved"
        files.rename(directory, doomed)
        files.remove_tree(doomed)


def settle(files: Files, places: Sequence[ILogDir]) -> None:
    """Complete or undo the moves between dirs that a crash has interrupted. Blocks.

    Called before the dirs are opened. A copy is removed only if its original is there. Errors are logged;
    opening the dir meets them again.
    """
    names: dict[str, list[str]] = {}
    for place in places:
        with contextlib.suppress(OSError):
            names[place.path] = files.names(place.path)
    times = Counter(name for found in names.values() for name in found)
    for path, found in names.items():
        for name in found:
            here = os.path.join(path, name)
            if _MOVED.fullmatch(name):
                with contextlib.suppress(OSError):
                    _settle_aside(files, here, [*names])
                continue
            if not (times[name] > 1 or _FUTURE.fullmatch(name)) or not files.is_dir(here):
                continue
            try:
                line = (_settle_future if _FUTURE.fullmatch(name) else _settle_moved)(files, here, [*names])
            except OSError as error:
                line = f"{here}: {error}"
            if line:
                _log.warn("{line}", line=line)


def _settle_aside(files: Files, here: str, log_dirs: Sequence[str]) -> None:
    """Remove a directory that was put aside for a copy of it, if the partition is in one of the dirs."""
    match = _MOVED.fullmatch(os.path.basename(here))
    for path in log_dirs if match is not None else ():
        known = os.path.join(path, match[1] if match is not None else "")
        if files.is_dir(known) and _topic_id(files, here) in (None, _topic_id(files, known)):
            files.remove_tree(here)
            return
    _log.warn("{path}: the partition that it was moved from is in no log dir; it is left alone", path=here)


def _topic_id(files: Files, directory: str) -> bytes | None:
    return files.read(os.path.join(directory, PARTITION_METADATA))


def _settle_future(files: Files, here: str, log_dirs: Sequence[str]) -> str:
    note = files.read(os.path.join(here, MOVED_FROM))
    source = note.decode(errors="replace") if note is not None else ""
    if not any(name.endswith(LOG) for name in files.names(here)) or (source and files.is_dir(source)):
        remove_copy(files, here)
        return f"{here}: an unfinished copy was removed; the partition stays in {source or 'its dir'}"
    return (
        f"{here}: an unfinished copy of {source or 'an unknown partition'}, not there; the copy is left"
        " alone. Bring the original back, or move the copy away"
    )


def _settle_moved(files: Files, here: str, log_dirs: Sequence[str]) -> str | None:
    """Put the original of a copy that had got its name aside."""
    note = files.read(os.path.join(here, MOVED_FROM))
    source = note.decode(errors="replace") if note is not None else ""
    if os.path.dirname(source) not in log_dirs or os.path.basename(source) != os.path.basename(here):
        return None
    ids = [files.read(os.path.join(path, PARTITION_METADATA)) for path in (here, source)]
    if not files.is_dir(source) or ids[0] != ids[1]:
        return None
    suffix = f".{uuid.uuid4().hex}-moved"
    name = os.path.basename(source)[: _MAX_NAME - len(suffix)] + suffix
    files.sync_dir(os.path.dirname(here))
    aside = os.path.join(os.path.dirname(source), name)
    files.rename(source, aside)
    files.sync_dir(os.path.dirname(source))
    files.unlink(os.path.join(here, MOVED_FROM))
    files.remove_tree(aside)
    return f"{here}: the move from {source} is complete"


async def copy_round(copy: Copy, shape: Shape, worker: Worker, check: partial[None]) -> None:
    """Copy all parts of *shape* that the copy lacks.

    :param check: raises :class:`Stopped` where the move is to be given up.
    :raises OSError: a file cannot be read or written; FileNotFoundError where the log has changed meanwhile.
    """
    await worker(partial(copy.drop_old, shape))
    for part in shape.parts:
        check()
        if copy.is_whole(part):
            continue
        while not await worker(partial(copy.copy, part)):
            check()
        if part.segment is not shape.segments[-1]:
            copy.whole.add((part.segment, part.suffix))
    await worker(copy.copy_others)
    check()
