"""The settings of links to other clusters, as values: :class:`LinkSettings`. Pure.

The settings of a link are cluster-wide: every broker reads the same ones. The effective value counts, as of
any setting: a dynamic ``mirror.links`` replaces the one in the settings file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from kafkatx.config.broker_config import BrokerConfig
from kafkatx.config.table.mirror.rows import CLIENT, LINKS, PREFIX, ROWS


@attrs.frozen
class LinkSettings:
    """The settings of one link.

    :ivar bootstrap_servers: ``HOST:PORT`` each; empty: the link is not complete, and does nothing.
    :ivar topics: regular expression of the source's topics; empty: none, as for the other expressions.
    :ivar groups: regular expression of the source's groups.
    :ivar rate_bytes: most bytes per second that a broker fetches; None: no limit.
    :ivar paused: regular expression of the mirrored topics that should be paused.
    :ivar promoted: regular expression of the mirrored topics that should be promoted.
    :ivar client: settings of clients of the source, by Kafka's names, as they were set.
    :ivar refresh_interval_ms: interval of the comparison of topics, partitions and configs.
    :ivar groups_interval_ms: interval at which offsets of groups are copied.
    """

    name: str
    bootstrap_servers: tuple[str, ...]
    topics: str
    groups: str
    rate_bytes: int | None
    paused: str
    promoted: str
    client: Mapping[str, str] = attrs.field(repr=False)  # it may have passwords
    refresh_interval_ms: int = 5000
    groups_interval_ms: int = 5000


def link_settings(config: BrokerConfig) -> Mapping[str, LinkSettings]:
    """Return the settings of each link of ``mirror.links``, by its name, in order."""
    return {name: settings_of(config, name) for name in config[LINKS]}


def settings_of(config: BrokerConfig, link: str) -> LinkSettings:
    """Return the settings of a link, which ``mirror.links`` need not have: its mirrors can be promoted."""

    def value(name: str) -> Any:
        return config[attrs.evolve(ROWS[name], name=f"{PREFIX}{link}.{name}")]

    own = f"{PREFIX}{link}."
    client = {
        row.name: config.explicit[own + row.name]
        for row in CLIENT.settings
        if own + row.name in config.explicit
    }
    return LinkSettings(
        link,
        value("bootstrap.servers"),
        value("topics"),
        value("groups"),
        value("rate.bytes"),
        value("paused"),
        value("promoted"),
        client,
        value("refresh.interval.ms"),
        value("groups.interval.ms"),
    )
