"""The topics that consumers subscribe to, read from the metadata in their JoinGroup. Pure.

Only the fields of version 0 are read, with which every version begins
(``ClassicGroup.computeSubscribedTopics`` of Apache Kafka): fields that later versions add make no difference.
"""

from __future__ import annotations

from collections.abc import Iterable

from kafkatx.errors import ProtocolViolation
from kafkatx.group.protocol import ConsumerProtocolSubscription, version_of
from kafkatx.wire.codec import decoder

VERSION_BYTES = 2


def topics_of(metadata: Iterable[bytes]) -> frozenset[str] | None:
    """Return all topics in these members' metadata; None if the metadata of one cannot be read."""
    read = decoder(ConsumerProtocolSubscription, 0)
    topics: set[str] = set()
    try:
        for data in metadata:
            version_of(data)
            topics.update(read(data, VERSION_BYTES)[0].topics)
    except ProtocolViolation:
        return None
    return frozenset(topics)
