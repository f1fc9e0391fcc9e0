"""What consumers subscribe to, read from the metadata that they join with.

Only the beginning of it is read, as it is in version 0, which is that of every version
(``ClassicGroup.computeSubscribedTopics`` of Apache Kafka): what clients to come add makes no difference.
"""

from __future__ import annotations

from collections.abc import Iterable

from kafkatx.errors import ProtocolViolation
from kafkatx.group.protocol import ConsumerProtocolSubscription, version_of
from kafkatx.wire.codec import decoder

VERSION_BYTES = 2


def topics_of(metadata: Iterable[bytes]) -> frozenset[str] | None:
    """All topics that these members subscribe to; None if the metadata of one cannot be read."""
    read = decoder(ConsumerProtocolSubscription, 0)
    topics: set[str] = set()
    try:
        for data in metadata:
            version_of(data)
            topics.update(read(data, VERSION_BYTES)[0].topics)
    except ProtocolViolation:
        return None
    return frozenset(topics)
