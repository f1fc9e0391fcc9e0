"""The database's part of ``kafkatx log adopt``: it writes the topics that were found on the disk."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable

from kafkatx.metadata.embedded.database import ClusterDatabase
from kafkatx.metadata.embedded.ids import kafka_id
from kafkatx.metadata.layout.producer_ids import first_producer_id
from kafkatx.types import Placement, Topic


def new_id() -> uuid.UUID:
    """Return a random id whose text does not begin with ``-``: commands would take it for an option."""
    found = uuid.uuid4()
    while kafka_id(found).startswith("-"):
        found = uuid.uuid4()
    return found


def write(
    database: ClusterDatabase,
    topics: Iterable[Topic],
    grown: Iterable[tuple[Topic, int]],
    placed: Iterable[Placement],
    generation: int,
) -> None:
    """Write topics into the database; an interrupted call can be repeated.

    :param topics: new topics; one replaces a topic of the same name.
    :param grown: topics with more partitions than the database has, and the number that it has.
    :param generation: the highest that a log dir has noted.
    :raises RequestError: KAFKA_STORAGE_ERROR.
    """
    database.skip_ahead(generation, first_producer_id(time.time()))
    there = database.topics()
    ids: list[uuid.UUID] = []
    for topic in topics:
        old = there.get(topic.name)
        if old is not None:
            database.delete_topic(old.name)
            ids.append(old.topic_id)  # no client asked to delete its directories
        database.create_topic(topic)
        ids.append(topic.topic_id)
    for topic, count in grown:
        database.add_partitions(topic.name, count, topic.partitions[count:])
    database.record(None, placed, ids)
