"""The finalized features of the cluster (KIP-584), for ApiVersions and UpdateFeatures. Pure.

A feature is listed once it is served. Its level depends on the version of kafkatx: there is one level of
each, and nothing to upgrade by hand.
"""

from __future__ import annotations

import attrs

from kafkatx.config import BrokerConfig
from kafkatx.config.table.groups import GROUP_COORDINATOR_REBALANCE_PROTOCOLS


@attrs.frozen
class Feature:
    """A feature, the levels that this broker can run, and the one that the cluster runs."""

    name: str
    min_version: int
    max_version: int
    level: int


METADATA_VERSION_4_0 = 25
"""4.0-IV3, of Kafka 4.0: the first release in which KIP-848 is generally available."""

METADATA_VERSION = Feature(
    "metadata.version", METADATA_VERSION_4_0, METADATA_VERSION_4_0, METADATA_VERSION_4_0
)
GROUP_VERSION = Feature("group.version", 1, 1, 1)
TRANSACTION_VERSION = Feature("transaction.version", 0, 2, 2)
"""Level 2 lets clients use version 2 of transactions (KIP-890): the epoch is raised with each end."""


def features(config: BrokerConfig) -> tuple[Feature, ...]:
    """Return the finalized features: ``group.version`` 1 only where KIP-848 is offered."""
    if "consumer" in config[GROUP_COORDINATOR_REBALANCE_PROTOCOLS]:
        return (GROUP_VERSION, METADATA_VERSION, TRANSACTION_VERSION)
    return (METADATA_VERSION, TRANSACTION_VERSION)
