"""The lines of a history: written by a client while it runs, read by the checker. Writes to an open file.

Each client has a file of its own. Its first line is a header, the others are events, words with a space
between; the second word is a time of the monotonic clock in seconds, which all clients share::

    producer NAME TOPIC ACKS IDEMPOTENT ORDERED     reader NAME TOPIC GROUP    group NAME GROUP TOPIC
    s TIME NUMBER PARTITION                         n TIME                     c TIME COMMIT PARTITION OFFSET
    a TIME NUMBER PARTITION OFFSET                  r TIME PARTITION OFFSET ID k TIME COMMIT
    f TIME NUMBER                                                              o TIME BEGUN PARTITION OFFSET

A producer sends (s) the records 0, 1, 2 and so on; each is acknowledged (a), or has failed for certain (f),
or neither, and may be in the log. A reader gets (r) the records from an offset on without a gap, with an ID
for each, ``NAME:NUMBER``; after a rebalance or a seek (n) it may be anywhere. GROUP is ``-`` for a reader
without one. A group's member asks for a commit (c), which is acknowledged (k) or unknown; it fetches (o) a
committed offset, having asked at BEGUN.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TextIO

import attrs

_ID = re.compile(rb"[a-z0-9-]+:[0-9]{1,12}")
NO_ID = "?"


def value_of(name: str, number: int, size: int = 0) -> bytes:
    """Return the value of a producer's record, filled up to a size."""
    return f"{name}:{number}|".encode().ljust(size, b"x")


def id_of(value: bytes | None) -> str:
    """Return the id in a record's value; ``?`` if it has none."""
    found = (value or b"").partition(b"|")[0]
    return found.decode() if _ID.fullmatch(found) else NO_ID


class _History:
    """A file of lines; threads may write at the same time."""

    def __init__(self, out: TextIO, now_s: Callable[[], float], *header: str) -> None:
        self.now_s = now_s
        self._out = out
        self._lock = threading.Lock()
        self._put(*header)

    def _put(self, *words: object) -> None:
        line = " ".join(map(str, words)) + "\n"
        with self._lock:
            self._out.write(line)

    def _event(self, kind: str, *words: object) -> None:
        self._put(kind, f"{self.now_s():.3f}", *words)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._out.close()


class ProducerHistory(_History):
    """The sends of a producer, and their outcomes as far as it knows them.

    :param acks: "all" or "1".
    :param ordered: True if its records must be in the log in the order of their numbers.
    """

    def __init__(
        self,
        out: TextIO,
        now_s: Callable[[], float],
        name: str,
        topic: str,
        acks: str,
        *,
        idempotent: bool,
        ordered: bool,
    ) -> None:
        super().__init__(out, now_s, "producer", name, topic, acks, str(int(idempotent)), str(int(ordered)))

    def sent(self, number: int, partition: int) -> None:
        """Note that a record is about to be sent."""
        self._event("s", number, partition)

    def acknowledged(self, number: int, partition: int, offset: int) -> None:
        """Note an acknowledgement; the offset is -1 if the client does not know it."""
        self._event("a", number, partition, max(offset, -1))

    def failed(self, number: int) -> None:
        """Note that a record is not in the log, and never will be."""
        self._event("f", number)


class ReaderHistory(_History):
    """The records that a reader got.

    :param group: the group that it is a member of.
    """

    def __init__(
        self, out: TextIO, now_s: Callable[[], float], name: str, topic: str, group: str = "-"
    ) -> None:
        self.topic = topic
        super().__init__(out, now_s, "reader", name, topic, group)

    def moved(self) -> None:
        """Note that the next offset of each partition may be any: a rebalance, a seek, a new start."""
        self._event("n")

    def read(self, partition: int, records: Sequence[tuple[int, bytes | None]]) -> None:
        """Note the records, pairs of offset and value, that it got of a partition."""
        run: list[str] = []
        first = 0
        for offset, value in records:
            if run and offset != first + len(run):
                self._event("r", partition, first, *run)
                run = []
            if not run:
                first = offset
            run.append(id_of(value))
        if run:
            self._event("r", partition, first, *run)


class GroupHistory(_History):
    """The commits of a group's member, and the committed offsets that it fetched."""

    def __init__(self, out: TextIO, now_s: Callable[[], float], name: str, group: str, topic: str) -> None:
        super().__init__(out, now_s, "group", name, group, topic)
        self._commits = 0

    def committing(self, partition: int, offset: int) -> int:
        """Note that a commit is about to be sent; return its number."""
        self._commits += 1
        self._event("c", self._commits, partition, offset)
        return self._commits

    def committed(self, commit: int) -> None:
        """Note that a commit was acknowledged."""
        self._event("k", commit)

    def fetched(self, begun_s: float, partition: int, offset: int) -> None:
        """Note a committed offset as the coordinator gave it; -1 for none.

        :param begun_s: the time before it was asked for.
        """
        self._event("o", f"{begun_s:.3f}", partition, offset)


@attrs.frozen
class Parsed:
    """A history as read from its lines.

    :ivar header: the words of the header without the first.
    :ivar events: the words of each event, in the order in which they were written.
    """

    header: list[str]
    events: Iterator[list[str]]


def parse(lines: Iterable[str]) -> Parsed:
    """Return header and events of a history; a last line that is cut is left out.

    :raises ValueError: the history is empty.
    """
    whole = (line.split() for line in lines if line.endswith("\n"))
    header = next(whole, None)
    if header is None:
        raise ValueError("a history without a header")
    return Parsed(header[1:], whole)
