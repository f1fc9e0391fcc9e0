"""The lines of a file or a pipe, in blocks, and their keys. Reads only through the function it is given."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import attrs

from kafkatx.errors import KafkaTXError

LONGEST_LINE_BYTES = 128 << 20


@attrs.frozen
class LineFormat:
    """The parts of a line.

    :ivar separator: between key and value; None: lines have no key.
    :ivar key_required: a line without the separator is an error, as it is for kafka-console-producer.sh.
    :ivar null_marker: a key or value that equals it is null.
    """

    separator: bytes | None = None
    key_required: bool = False
    null_marker: bytes | None = None

    @property
    def plain(self) -> bool:
        """True if a line is nothing but a value."""
        return self.separator is None and self.null_marker is None

    def parse(self, line: bytes) -> tuple[bytes | None, bytes | None]:
        """Return the key and the value of a line.

        :raises KafkaTXError: a key is required, and the line has no separator.
        """
        key: bytes | None = None
        value = line
        if self.separator is not None:
            head, found, tail = line.partition(self.separator)
            if found:
                key, value = head, tail
            elif self.key_required:
                raise KafkaTXError(f"no key separator {self.separator!r} in the line {line[:60]!r}")
        return self._null(key), self._null(value)

    def _null(self, part: bytes | None) -> bytes | None:
        return None if part == self.null_marker else part


def line_blocks(read: Callable[[], bytes], advance: Callable[[float], None]) -> Iterator[list[bytes]]:
    """Split input into lines without their newlines; yield many at a time.

    The last line needs no newline. Each byte is copied a fixed number of times, however long a line is.

    :param read: returns the next bytes, none at the end.
    :param advance: called with the number of bytes that were read.
    :raises KafkaTXError: a line is longer than any broker accepts.
    """
    unfinished: list[bytes] = []
    unfinished_bytes = 0
    while data := read():
        advance(len(data))
        head, newline, rest = data.partition(b"\n")
        unfinished.append(head)
        unfinished_bytes += len(head)
        if not newline:
            if unfinished_bytes > LONGEST_LINE_BYTES:
                raise KafkaTXError(f"a line is longer than {LONGEST_LINE_BYTES} bytes: is it text at all?")
            continue
        lines = rest.split(b"\n")
        last = lines.pop()
        lines.insert(0, b"".join(unfinished))
        unfinished, unfinished_bytes = [last], len(last)
        yield lines
    if unfinished_bytes:
        yield [b"".join(unfinished)]
