"""Counts of records per topic and time window, and the events that announce them. Pure.

The Kafka paper, section 4: "We instrument each producer such that it periodically generates a monitoring
event, which records the number of messages published by that producer for each topic within a fixed time
window." What brokers have acknowledged is counted; with acks=0 what was sent. The window is that of the
record's timestamp, as the log has it: the broker's time where the topic has
``message.timestamp.type=LogAppendTime``.

An event is a record of the audit topic: its key is the topic that was written to, its value JSON::

    {"version": 1, "producer": "shop-5b0e...", "sequence": 3, "topic": "orders",
     "window_start_ms": 1700000000000, "window_ms": 10000, "count": 512, "sent_ms": 1700000010123,
     "server": "web-1", "tier": "producer"}

Several events of one producer and window add up. An event that may have been lost is sent again with the same
sequence: readers use the first of each producer and sequence. Events of older versions lack the server's
name, and the tier.

The paper goes on: "The consumers can then count the number of messages that they have received from a
given topic and validate those counts with the monitoring events." A consumer announces its counts in the same
topic, in events of version 2, which have ``consumer`` and ``group`` in place of ``producer``. Readers that
know only producers refuse the version. The other tiers announce ranges of offsets, in events of version 3
(:mod:`kafkatx.clientcore.audit.ranges`).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from math import lcm
from typing import Any

import attrs

from kafkatx.clientcore.audit.tiers import CONSUMER, PRODUCER, Tier
from kafkatx.clientcore.producer.batch import ProducerBatch
from kafkatx.errors import SettingError
from kafkatx.types import NO_TIMESTAMP

VERSION = 1
CONSUMER_VERSION = 2
DEFAULT_TOPIC = "kafkatx-audit"
DAY_MS = 86_400_000

SETTLE_MS = 60_000
"""The default time for records and announcements to arrive."""

MAX_WINDOWS = 10_000
"""The number of windows at which counts are announced early: old records may need one window each."""

_PRODUCER_TEXTS = ("producer", "topic")
_CONSUMER_TEXTS = ("consumer", "topic", "group")
_NUMBERS = ("sequence", "window_start_ms", "window_ms", "count", "sent_ms")
_LARGEST = 1 << 62


def window_start_ms(timestamp_ms: int, window_ms: int) -> int:
    """Return the start of a timestamp's window; windows start at multiples of their length."""
    return timestamp_ms // window_ms * window_ms


def common_window_ms(lengths_ms: Collection[int], asked_ms: int | None = None) -> int | None:
    """Return a window length into which the windows of all producers fit; None: there are none.

    :param asked_ms: the length to use, or None.
    :raises SettingError: the producers' windows do not fit into that length, or it does not fit into a day.
    """
    if not lengths_ms:
        return asked_ms
    found_ms = lcm(*lengths_ms) if asked_ms is None else asked_ms
    if found_ms > DAY_MS or any(found_ms % length_ms for length_ms in lengths_ms):
        told = ", ".join(map(str, sorted(lengths_ms)[:10]))
        raise SettingError(
            f"windows of {found_ms} ms are not possible: producers announced windows of {told} ms"
            " (audit.interval.ms); these must fit into the windows, and the windows into a day"
        )
    return found_ms


@attrs.frozen
class Announcement:
    """The number of records of one window and topic that a client has counted since its last announcement.

    A producer counts acknowledged records, a consumer records that it has handed out.

    :ivar producer: the name of the client.
    :ivar server: the name of the server that it runs on; empty: not known.
    :ivar group: the consumer's group; None: it is a producer.
    """

    producer: str
    sequence: int
    topic: str
    window_start_ms: int
    window_ms: int
    count: int
    sent_ms: int
    server: str = ""
    group: str | None = None

    @property
    def tier(self) -> Tier:
        """The tier that has counted: producers, or the consumers of a group."""
        return Tier(PRODUCER) if self.group is None else Tier(CONSUMER, self.group)

    def encode(self) -> bytes:
        """Return the value of the event's record."""
        fields = {**attrs.asdict(self), "tier": self.tier.kind}
        if self.group is None:
            del fields["group"]
            fields = {"version": VERSION, **fields}
        else:
            fields = {"version": CONSUMER_VERSION, "consumer": fields.pop("producer"), **fields}
        return json.dumps(fields, separators=(",", ":")).encode()

    @classmethod
    def decode(cls, value: bytes | None) -> Announcement:
        """Decode and check a record's value; any client can write to the audit topic.

        :raises ValueError: it is not an event, or has an unknown version.
        """
        try:
            fields = json.loads(value or b"")
        except (ValueError, RecursionError) as error:
            raise ValueError("not JSON") from error
        version = fields.get("version") if isinstance(fields, dict) else None
        if version not in (VERSION, CONSUMER_VERSION):
            raise ValueError(f"not an audit event of version {VERSION} or {CONSUMER_VERSION}")
        kind, names = (PRODUCER, _PRODUCER_TEXTS) if version == VERSION else (CONSUMER, _CONSUMER_TEXTS)
        if fields.get("tier", kind) != kind:
            raise ValueError(f"version {version} is not of the tier {kind}")
        texts: list[Any] = [fields.get(name) for name in names]
        server: Any = fields.get("server", "")
        numbers: list[Any] = [fields.get(name) for name in _NUMBERS]
        if not all(isinstance(text, str) for text in (*texts, server)) or not all(map(_is_number, numbers)):
            raise ValueError("a field is missing or has the wrong type")
        for text in (*texts, server):
            text.encode()  # lone surrogates could not be printed
        client, topic, *groups = texts
        group = groups[0] if groups else None
        sequence, start_ms, window_ms, count, sent_ms = numbers
        found = cls(client, sequence, topic, start_ms, window_ms, count, sent_ms, server, group)
        if found.count <= 0 or not 0 < found.window_ms <= DAY_MS or found.window_start_ms % found.window_ms:
            raise ValueError("the count or the window is not valid")
        return found


def _is_number(value: object) -> bool:
    return type(value) is int and abs(value) < _LARGEST


class AuditCounter:
    """The counts of one producer or consumer. Times are arguments, in ms.

    :ivar topic: the audit topic; its own records are not counted.
    """

    def __init__(
        self,
        producer: str,
        interval_ms: int,
        now_ms: int,
        topic: str = DEFAULT_TOPIC,
        *,
        server: str = "",
        group: str | None = None,
    ) -> None:
        """Start with no counts.

        :param producer: the unique name of the client.
        :param interval_ms: the interval of announcements, and the length of a window.
        :param server: the name of the server that it runs on.
        :param group: the consumer's group; None: it is a producer.
        """
        self.topic = topic
        self.interval_ms = interval_ms
        self._producer = producer
        self._server = server
        self._group = group
        self._due_ms = now_ms + interval_ms
        self._counts: dict[tuple[str, int], int] = {}
        self._unconfirmed: dict[int, Announcement] = {}
        self._sequence = 0

    def count(self, batch: ProducerBatch, append_time_ms: int = NO_TIMESTAMP) -> None:
        """Count a batch that is in the log.

        :param append_time_ms: the broker's timestamp where it replaced the records', else -1.
        """
        if batch.topic == self.topic:
            return
        if append_time_ms >= 0:
            self._add(batch.topic, append_time_ms, batch.records)
            return
        times = batch.rows.times
        stamps = times[1::2]
        earliest_ms = min(stamps)
        if earliest_ms // self.interval_ms == max(stamps) // self.interval_ms:
            self._add(batch.topic, earliest_ms, batch.records)
            return
        ends = [*times[2::2], batch.records]
        for first, timestamp_ms, end in zip(times[0::2], stamps, ends, strict=True):
            self._add(batch.topic, timestamp_ms, end - first)

    def count_times(self, topic: str, times_ms: Sequence[int]) -> None:
        """Count records that were handed out, by their timestamps; at least one."""
        if topic == self.topic:
            return
        earliest_ms = min(times_ms)
        if earliest_ms // self.interval_ms == max(times_ms) // self.interval_ms:
            self._add(topic, earliest_ms, len(times_ms))
            return
        for timestamp_ms, count in Counter(times_ms).items():
            self._add(topic, timestamp_ms, count)

    def _add(self, topic: str, timestamp_ms: int, count: int) -> None:
        window = topic, timestamp_ms // self.interval_ms
        self._counts[window] = self._counts.get(window, 0) + count

    def due(self, now_ms: int) -> bool:
        """Return True if it is time to :meth:`announce`."""
        if now_ms >= self._due_ms:
            return True
        return len(self._counts) >= MAX_WINDOWS and not self._unconfirmed

    def announce(self, now_ms: int, sent_ms: int | None = None) -> list[Announcement]:
        """Return the events to send: the earlier ones if they are not confirmed yet, else new ones.

        :param sent_ms: the wall clock's time, if *now_ms* is another clock's.
        """
        if sent_ms is None:
            sent_ms = now_ms
        self._due_ms = now_ms + self.interval_ms
        if not self._unconfirmed:
            for (topic, window), count in self._counts.items():
                self._unconfirmed[self._sequence] = Announcement(
                    self._producer,
                    self._sequence,
                    topic,
                    window * self.interval_ms,
                    self.interval_ms,
                    count,
                    sent_ms,
                    self._server,
                    self._group,
                )
                self._sequence += 1
            self._counts.clear()
        return [attrs.evolve(event, sent_ms=sent_ms) for event in self._unconfirmed.values()]

    def confirm(self, announced: Iterable[Announcement]) -> None:
        """Forget events that are in the audit topic."""
        for event in announced:
            self._unconfirmed.pop(event.sequence, None)

    @property
    def pending(self) -> bool:
        """True if there are counts that are not known to be in the audit topic."""
        return bool(self._counts or self._unconfirmed)
