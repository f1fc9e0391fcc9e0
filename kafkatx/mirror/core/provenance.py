"""Provenance: where a copied record comes from, in a header of the copy. Pure.

Each copy has one header ``kafkatx.mirror`` more than its original, behind all others::

    kafkatx.mirror = <cluster id>:<topic>:<partition>:<offset>

A record that was copied twice has two, the older one first. Cluster ids and topics have no colon.
"""

from __future__ import annotations

import hashlib
from typing import NamedTuple

from kafkatx.clientcore.admin.mirror_status import FIRST_DERIVED_PRODUCER_ID
from kafkatx.records.batch import decode_headers
from kafkatx.records.varint import decode, encode

HEADER = "kafkatx.mirror"
_NAME = HEADER.encode()
_ONE_HEADER = encode(1)

_PRODUCER_IDS = FIRST_DERIVED_PRODUCER_ID
"""Producer ids of mirrors are from here to twice as much: far above those that brokers hand out from 0 on."""


class Provenance(NamedTuple):
    """The place of a record in the cluster that it was copied from."""

    cluster_id: str
    topic: str
    partition: int
    offset: int

    def encode(self) -> bytes:
        """Return the header's value."""
        return f"{self.cluster_id}:{self.topic}:{self.partition}:{self.offset}".encode()


class StreamId(NamedTuple):
    """The records of one partition of a source in one topic of the target; the partition's number is kept."""

    cluster_id: str
    topic: str
    partition: int
    target: str

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition} of {self.cluster_id}"


def parse(value: bytes | None) -> Provenance | None:
    """Read a header's value; None if it is none of a mirror's."""
    parts = (value or b"").decode("utf-8", "replace").split(":")
    if len(parts) != 4 or not (parts[2].isdecimal() and parts[3].isdecimal()):
        return None
    return Provenance(parts[0], parts[1], int(parts[2]), int(parts[3]))


def chain(encoded_headers: bytes) -> list[Provenance]:
    """Return where a record was copied from, the oldest place first; none for an original.

    :raises CorruptRecords: the headers are malformed.
    """
    if _NAME not in encoded_headers:
        return []
    found = (parse(value) for name, value in decode_headers(encoded_headers) if name == HEADER)
    return [place for place in found if place is not None]


def passed_through(encoded_headers: bytes, cluster_id: str) -> bool:
    """Return True if a record was in this cluster before: to copy it there would close a cycle."""
    if _NAME not in encoded_headers:
        return False
    return any(place.cluster_id == cluster_id for place in chain(encoded_headers))


def producer_id(cluster_id: str, topic: str) -> int:
    """Return the producer id with which the records of a source's topic are written to any target.

    It follows from the topic alone. So a mirror finds its own batches after a restart, and two mirrors that
    copy the same topic to the same place cannot both append: the broker checks their sequence numbers.
    """
    digest = hashlib.sha256(f"{HEADER}\0{cluster_id}\0{topic}".encode()).digest()
    return _PRODUCER_IDS | int.from_bytes(digest[:8], "big") & (_PRODUCER_IDS - 1)


class HeaderStamp:
    """Adds the provenance of one source partition to encoded headers."""

    def __init__(self, cluster_id: str, topic: str, partition: int) -> None:
        self._stem = f"{cluster_id}:{topic}:{partition}:".encode()
        self._by_digits: dict[int, bytes] = {}

    def own(self, offset: int) -> bytes:
        """Return the encoded header of a record with this offset, without a count of headers."""
        digits = b"%d" % offset
        return self.head(len(digits)) + digits

    def head(self, digits: int) -> bytes:
        """Return everything of the header that is before the offset's *digits*."""
        head = self._by_digits.get(digits)
        if head is None:
            size = len(self._stem) + digits
            head = self._by_digits[digits] = encode(len(_NAME)) + _NAME + encode(size) + self._stem
        return head

    def add(self, encoded_headers: bytes, offset: int) -> bytes:
        """Return the headers of the copy of a record, their count first.

        :param encoded_headers: those of the record, their count first; empty if it has none.
        """
        if not encoded_headers:
            return _ONE_HEADER + self.own(offset)
        count, at = decode(encoded_headers, 0)
        return encode(count + 1) + encoded_headers[at:] + self.own(offset)
