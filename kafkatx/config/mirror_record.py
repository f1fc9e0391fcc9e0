"""The record of a mirrored topic: the value of its config ``kafkatx.mirror``. Pure.

Every broker reads it from the cluster's state; the controller's broker alone writes it, and clients may only
read it. It decides what a topic may do, whatever the settings of the link say::

    state       records from the link   records from producers
    mirroring   yes                     no
    paused      no                      no
    failed      no                      no                      ``reason`` says why
    promoting   no                      no                      once there are ``ends``, for good
    promoted    no                      yes                     for good

The value is JSON::

    {"link": "dc1", "source_id": "6d3f...", "state": "promoting", "reason": "", "ends": [17, 4]}
"""

from __future__ import annotations

import enum
import json
import uuid
from collections.abc import Mapping
from functools import lru_cache

import attrs

from kafkatx.names import KAFKATX_MIRROR as KAFKATX_MIRROR


class MirrorState(enum.Enum):
    """The state of a mirrored topic."""

    MIRRORING = "mirroring"
    PAUSED = "paused"
    FAILED = "failed"
    PROMOTING = "promoting"
    PROMOTED = "promoted"


@attrs.frozen
class MirrorRecord:
    """The record of one mirrored topic.

    :ivar link: the name of the link.
    :ivar source_id: id of the topic in the source cluster; another topic of the same name is not mirrored.
    :ivar reason: why the topic is in this state, for a person; empty if that needs no words.
    :ivar ends: the log end offset of each partition when the link stopped; None until that is known.
    :ivar attempt: number of the promotion that began last; 0 if none has.
    """

    link: str
    source_id: uuid.UUID
    state: MirrorState = MirrorState.MIRRORING
    reason: str = ""
    ends: tuple[int, ...] | None = None
    attempt: int = 0

    @property
    def writable(self) -> bool:
        """True if producers may write to the topic."""
        return self.state is MirrorState.PROMOTED

    @property
    def fetched(self) -> bool:
        """True if leaders append records of the link."""
        return self.state is MirrorState.MIRRORING

    def text(self) -> str:
        """Return the value of the config."""
        fields: dict[str, object] = {
            "link": self.link,
            "source_id": str(self.source_id),
            "state": self.state.value,
        }
        if self.reason:
            fields["reason"] = self.reason
        if self.ends is not None:
            fields["ends"] = list(self.ends)
        if self.attempt:
            fields["attempt"] = self.attempt
        return json.dumps(fields, separators=(",", ":"))

    @classmethod
    def parse(cls, text: str) -> MirrorRecord:
        """Read the value of the config. Unknown keys are ignored.

        :raises ValueError: it is not such a value.
        """
        try:
            found = json.loads(text)
            ends = found.get("ends")
            record = cls(
                _text(found["link"]),
                uuid.UUID(_text(found["source_id"])),
                MirrorState(found["state"]),
                _text(found.get("reason", "")),
                None if ends is None else tuple(map(_number, ends)),
                _number(found.get("attempt", 0)),
            )
        except (KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ValueError(f"{KAFKATX_MIRROR}={text[:100]} is no record of a mirror: {error!r}") from error
        return record


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value


def _number(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise TypeError(f"{value!r} is no number from 0 on")
    return value


def record_of(configs: Mapping[str, str]) -> MirrorRecord | None:
    """Return the record of a topic by its configs; None if it is no mirror.

    A value that cannot be read is a mirror that has failed: no producer may write to its topic.
    """
    text = configs.get(KAFKATX_MIRROR)
    if text is None:
        return None
    try:
        return _parsed(text)
    except ValueError as error:
        return MirrorRecord("?", uuid.UUID(int=0), MirrorState.FAILED, str(error))


_parsed = lru_cache(4096)(MirrorRecord.parse)
"""The controller reads the records of all topics again and again."""


def mirror_refusal(link: str) -> str:
    """Return why only a link may change a topic, for a person."""
    return (
        f"the topic is filled by the mirror link {link} alone:"
        " to write to it, promote it (kafkatx mirror promote)"
    )
