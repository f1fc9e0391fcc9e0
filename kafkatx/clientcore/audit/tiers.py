"""The tiers that a record passes, and that count it: the names by which the audit knows them. Pure.

A tier is a kind and, where there may be several of a kind, a place: ``broker:dc1``, ``consumer:billing``.

==========  ==============================  =====================
kind        counts                          place
==========  ==============================  =====================
producer    what brokers acknowledged
broker      what its leaders committed      name of the cluster
mirror      what it copied                  name of the mirror
consumer    what a group has processed      the group
ingest      what was committed to a table   name of the table
==========  ==============================  =====================
"""

from __future__ import annotations

import attrs

PRODUCER, BROKER, MIRROR, CONSUMER, INGEST = "producer", "broker", "mirror", "consumer", "ingest"

KINDS = (PRODUCER, BROKER, MIRROR, CONSUMER, INGEST)
"""All kinds of tiers."""


@attrs.frozen
class Tier:
    """One tier of one cluster.

    :ivar kind: one of :data:`KINDS`.
    :ivar place: tells tiers of one kind apart; empty for producers.
    :ivar cluster: the number of the cluster whose audit topic has its announcements, in the order in which
        the reader was given the clusters.
    """

    kind: str
    place: str = ""
    cluster: int = 0

    def __str__(self) -> str:
        return f"{self.kind}:{self.place}" if self.place else self.kind
