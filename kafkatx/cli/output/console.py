"""Messages as kafka-console-consumer.sh prints them, for its ``--property`` options.

The fields of a message are in Kafka's order: timestamp, partition, offset, headers, key, value. Apache Kafka:
``org.apache.kafka.tools.consumer.DefaultMessageFormatter``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from kafkatx.cli.output.renderer import Clean, as_is, unescape

if TYPE_CHECKING:
    from kafkatx.blocking import Columns
    from kafkatx.records.batch import Headers

_TIMESTAMPS = {-1: b"NoTimestampType", 0: b"CreateTime", 1: b"LogAppendTime"}
_FLAGS = {
    "print.timestamp": False,
    "print.partition": False,
    "print.offset": False,
    "print.headers": False,
    "print.key": False,
    "print.value": True,
}
_TEXTS = {
    "key.separator": b"\t",
    "line.separator": b"\n",
    "headers.separator": b",",
    "null.literal": b"null",
}


class BadProperty(ValueError):
    """A property is not known, or has another value than true or false."""


class ConsoleRenderer:
    """Prints the fields that properties ask for.

    :param properties: of kafka-console-consumer.sh, ``print.key=true`` say.
    :raises BadProperty: one is not known here.
    """

    def __init__(self, properties: Mapping[str, str], clean: Clean = as_is) -> None:
        self._clean = clean
        self._shown = dict(_FLAGS)
        self._texts = dict(_TEXTS)
        for name, value in properties.items():
            if name in _FLAGS:
                if value.lower() not in ("true", "false"):
                    raise BadProperty(f"{name}={value}: give true or false")
                self._shown[name] = value.lower() == "true"
            elif name in _TEXTS:
                self._texts[name] = unescape(value)
            else:
                known = ", ".join([*_FLAGS, *_TEXTS])
                raise BadProperty(f"{name} is not known: there are {known}")
        self.wants_headers = self._shown["print.headers"]

    def render(self, partition: int, columns: Columns) -> bytes:
        """Return all rows of *columns*, in order."""
        between, end = self._texts["key.separator"], self._texts["line.separator"]
        rows = []
        for at, offset in enumerate(columns.offsets):
            kind, timestamp = columns.timestamp_types[at], columns.timestamps[at]
            fields = {
                "print.timestamp": b"%s:%d" % (_TIMESTAMPS[kind], timestamp)
                if timestamp >= 0
                else b"NO_TIMESTAMP",
                "print.partition": b"Partition:%d" % partition,
                "print.offset": b"Offset:%d" % offset,
                "print.headers": self._headers(columns.headers[at]) if self.wants_headers else b"",
                "print.key": self._bytes(columns.keys[at]),
                "print.value": self._bytes(columns.values[at]),
            }
            row = between.join(fields[name] for name in fields if self._shown[name])
            rows.append(row + end if any(self._shown.values()) else row)
        return b"".join(rows)

    def _bytes(self, data: bytes | None) -> bytes:
        return self._clean(self._texts["null.literal"] if data is None else data)

    def _headers(self, headers: Headers) -> bytes:
        return self._texts["headers.separator"].join(self._each(headers)) or b"NO_HEADERS"

    def _each(self, headers: Headers) -> Iterator[bytes]:
        for name, data in headers:
            yield self._clean(name.encode("utf-8", "surrogateescape")) + b":" + self._bytes(data)
