"""The settings of links to other clusters, whose topics this one mirrors.

``mirror.links`` has the names of the links. Every other setting belongs to one of them and is a family of
names: ``mirror.dc1.topics`` is the setting ``topics`` of the link ``dc1``. :data:`FAMILY` has a row for each
of them, whose name lacks the prefix; :mod:`kafkatx.config.table.mirror.names` finds the row of a whole name.
"""

from __future__ import annotations

import re

import attrs

from kafkatx.config.table.row import ConfigType, Section, Setting, by_name
from kafkatx.config.table.security import sasl, tls

PREFIX = "mirror."
NAME = re.compile("[A-Za-z0-9_-]{1,64}")
"""The name of a link; it has no dot, so that a setting's name has one reading."""

MIRROR = Section(
    "Mirrors",
    "Links to other clusters, whose topics this cluster mirrors byte by byte. Each link has settings of its "
    "own, for example mirror.NAME.topics: see `kafkatx docs settings`, Mirrors: each link. Apache Kafka has "
    "no such settings.",
)


def _read_links(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(",")) if text.strip() else ()
    if len(set(names)) < len(names) or not all(map(NAME.fullmatch, names)):
        raise ValueError(text)
    return names


def _read_pattern(text: str) -> str:
    try:
        re.compile(text)
    except (re.error, RecursionError, OverflowError) as error:
        raise ValueError(text) from error
    return text


LINKS: Setting[tuple[str, ...]] = MIRROR.parsed(
    "mirror.links",
    ConfigType.LIST,
    (),
    "Names of the links. A link that is taken out of the list leaves its topics as they are: read-only until "
    "they are promoted.",
    _read_links,
    "a list of different names separated by commas, each of 1 to 64 letters, digits, underscores and hyphens",
    dynamic=True,
)

FAMILY = Section(
    "Mirrors: each link",
    "The settings of one link; NAME stands for its name in mirror.links. All brokers need the same values. A "
    "regular expression has to match the whole name of a topic or group; an empty one matches none.",
)


def _pattern(name: str, default: str, doc: str) -> None:
    FAMILY.parsed(name, ConfigType.STRING, default, doc, _read_pattern, "a regular expression", dynamic=True)


FAMILY.names(
    "bootstrap.servers",
    (),
    "Brokers of the source for the first connection, as HOST:PORT,...; without them the link does nothing.",
    empty=False,
    dynamic=True,
)
_pattern("topics", "", "Topics of the source to mirror: a regular expression. Internal topics never are.")
_pattern(
    "groups",
    ".*",
    "Groups of the source whose committed offsets for mirrored topics are copied: a regular expression.",
)
FAMILY.optional_long(
    "rate.bytes",
    "Maximum rate at which each broker fetches from the source; not set: no limit.",
    low=1,
    unit="bytes per second",
    dynamic=True,
)
_pattern("paused", "", "Mirrored topics that should be paused: a regular expression.")
_pattern(
    "promoted",
    "",
    "Mirrored topics that should be promoted: a regular expression. A promoted topic takes records from "
    "producers and none from the link any more. That cannot be undone.",
)
FAMILY.long(
    "refresh.interval.ms",
    5000,
    "Interval at which topics, partitions and configs of the source are compared with the mirrors.",
    low=100,
    high=86_400_000,
    unit="ms",
    dynamic=True,
)
FAMILY.long(
    "groups.interval.ms",
    5000,
    "Interval at which committed offsets of groups are copied.",
    low=100,
    high=86_400_000,
    unit="ms",
    dynamic=True,
)

CLIENT = Section(
    "Mirrors: the client of each link",
    "Client settings of one link, for all its connections to the source. Meanings and defaults are those of "
    "a consumer of kafkatx: see `kafkatx docs client-settings`. Passwords and keys are not dynamic: they "
    "would stand in the cluster's state.",
)
CLIENT.optional_string("client.id", "Name of this client in the source's logs.", dynamic=True)


def _number(name: str, doc: str, unit: str, low: int) -> None:
    CLIENT.optional_integer(name, doc, low=low, unit=unit, dynamic=True)


_number("request.timeout.ms", "Time-out of a reply.", "ms", 1)
_number("socket.connection.setup.timeout.ms", "Time-out of connecting.", "ms", 1)
_number("reconnect.backoff.ms", "Pause before connecting again; it doubles with each failure.", "ms", 0)
_number("reconnect.backoff.max.ms", "Longest such pause.", "ms", 0)
_number("retry.backoff.ms", "Pause before a failed request is sent again; it doubles.", "ms", 0)
_number("retry.backoff.max.ms", "Longest such pause.", "ms", 0)
_number("metadata.max.age.ms", "Time after which metadata is refreshed in any case.", "ms", 1)
_number("connections.max.idle.ms", "Time without requests after which a connection is closed.", "ms", -1)
_number("send.buffer.bytes", "Size of SO_SNDBUF; -1: the system's default.", "bytes", -1)
_number("receive.buffer.bytes", "Size of SO_RCVBUF; -1: the system's default.", "bytes", -1)
_number("fetch.min.bytes", "Size at which the source answers a fetch.", "bytes", 0)
_number("fetch.max.wait.ms", "Time for which the source may wait for fetch.min.bytes.", "ms", 0)
_number("fetch.max.bytes", "Approximate size of a reply to a fetch.", "bytes", 0)
_number("max.partition.fetch.bytes", "Approximate size of one partition's part of it.", "bytes", 0)
CLIENT.string(
    "security.protocol",
    "PLAINTEXT",
    "Protocol of the source's listener: PLAINTEXT, SSL, or with a login SASL_PLAINTEXT or SASL_SSL.",
    choices=("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"),
    dynamic=True,
)
CLIENT.settings += [
    attrs.evolve(row, dynamic=row.type is not ConfigType.PASSWORD, aliases=())
    for row in (*tls.SHARED.settings, *sasl.CLIENT.settings)
    if row.type is not ConfigType.CLASS
]

FAMILIES = (FAMILY, CLIENT)

ROWS = by_name(FAMILIES)
"""The rows of the families by their names without the prefix."""
