"""Requests to the process that decodes messages, and its answers, as bytes. Pure.

A frame, numbers big-endian::

    size of the head u32 | size of the body u32 | head: JSON | body

The body of a request for a step is batches as they are in a log. That of its result is the records that were
found, one after the other, each as a line of JSON; the head has their sizes. The body of the result of an
encoding is a key and a value.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from struct import Struct
from typing import Any, Final

import attrs

from kafkatx.views.formats.masks import Masks, Path

FRAME: Final = Struct(">II")
MOST_BYTES: Final = 256 << 20
"""The size of a frame's body: a batch may be as large as the settings of its topic allow."""

MOST_HEAD_BYTES: Final = 64 << 20
"""The size of a head: it has schemas."""


def encode_json(value: object) -> bytes:
    """Encode a value in one line; what is no text in UTF-8 is replaced."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "replace")


def encode_frame(
    head: object, body: bytes | bytearray | memoryview = b""
) -> tuple[bytes, bytes | bytearray | memoryview]:
    """Return a frame in two parts."""
    encoded = encode_json(head)
    return FRAME.pack(len(encoded), len(body)) + encoded, body


NO_MASKS: Final = Masks()


@attrs.frozen
class ViewRequest:
    """The way in which messages are to be seen.

    :ivar filter: None: all are wanted.
    :ivar plugins: name and path of each installed decoder.
    :ivar metadata_only: nothing of keys, values and headers is shown.
    """

    topic: str
    filter: str | None = None
    key_format: str = "auto"
    value_format: str = "auto"
    masks: Masks = NO_MASKS
    plugins: tuple[tuple[str, str], ...] = ()
    metadata_only: bool = False

    @classmethod
    def read(cls, found: Mapping[str, Any]) -> ViewRequest:
        """Return what :func:`attrs.asdict` has made a dict of, and JSON lists."""
        masks = found["masks"]
        plugins = tuple((name, path) for name, path in found["plugins"])
        return cls(
            **{**found, "masks": Masks(**{side: _paths(masks[side]) for side in masks}), "plugins": plugins}
        )


def _paths(found: Sequence[Sequence[str]]) -> tuple[Path, ...]:
    return tuple(map(tuple, found))


@attrs.frozen
class StepRequest:
    """A step: some batches of a partition.

    :ivar position: the offset to begin at; *until*: the one to end before.
    :ivar stable: the last stable offset.
    :ivar aborted: producer id and first offset of the aborted transactions in the batches.
    :ivar committed_only: leave out records of aborted and of open transactions.
    :ivar most: records that are wanted.
    :ivar keeps_last: the last ones are wanted, not the first ones.
    :ivar most_bytes: the size of the answer's body, but for its last record.
    :ivar most_characters: of a key or a value; the rest is cut.
    """

    view: ViewRequest
    partition: int
    position: int
    until: int
    stable: int
    aborted: tuple[tuple[int, int], ...] = ()
    committed_only: bool = False
    most: int = 100
    keeps_last: bool = False
    most_bytes: int = 1 << 20
    most_characters: int = 10_000

    @classmethod
    def read(cls, found: Mapping[str, Any]) -> StepRequest:
        """Return what was encoded."""
        aborted = tuple((producer, first) for producer, first in found["aborted"])
        return cls(**{**found, "view": ViewRequest.read(found["view"]), "aborted": aborted})


def encode_request(
    step: StepRequest, schemas: Mapping[str, Mapping[str, object]], is_last: bool
) -> dict[str, object]:
    """Return the head of a request for a step.

    :param is_last: schemas that are missing then are faults of their messages.
    """
    return {"step": attrs.asdict(step), "schemas": schemas, "isLast": is_last}


@attrs.frozen
class Found:
    """A record that is wanted.

    :ivar data: what is shown of it, as JSON.
    """

    timestamp: int
    offset: int
    data: bytes


@attrs.define
class StepResult:
    """The result of a step.

    :ivar position: the offset to go on from.
    :ivar found: in the order of the log.
    :ivar left_out: True if the first ones of the records that are wanted found no room (with *keeps_last*).
    :ivar first_timestamp: the earliest that was seen; -1: none. *last_timestamp*: the latest.
    :ivar faults: the records whose filtering failed, and why for the first of them.
    :ivar damage: why the batches cannot be read any further; or empty.
    :ivar missing: the schemas that are needed first; the step is then to be repeated with them.
    """

    position: int
    found: list[Found] = attrs.Factory(list)
    left_out: bool = False
    scanned: int = 0
    matched: int = 0
    scanned_bytes: int = 0
    first_timestamp: int = -1
    last_timestamp: int = -1
    faults: int = 0
    first_fault: str = ""
    damage: str = ""
    missing: tuple[str, ...] = ()

    def encode(self) -> tuple[bytes, bytes | bytearray | memoryview]:
        """Return the frame."""
        head = attrs.asdict(self, recurse=False)
        head["found"] = [(one.timestamp, one.offset, len(one.data)) for one in self.found]
        return encode_frame({"step": head}, b"".join(one.data for one in self.found))

    @classmethod
    def read(cls, head: Mapping[str, Any], body: bytes) -> StepResult:
        """Return what was encoded."""
        found, at = [], 0
        for timestamp, offset, size in head["found"]:
            found.append(Found(timestamp, offset, body[at : at + size]))
            at += size
        return cls(**{**head, "found": found, "missing": tuple(head["missing"])})


@attrs.frozen
class Typed:
    """A key or a value as a person has typed it.

    :ivar text: None: there is none (a tombstone, if it is the value).
    :ivar schema: a reference to its schema, for the formats that have one.
    """

    format: str
    text: str | None
    schema: str | None = None
