"""Coordinators of groups and transactional ids: FindCoordinator, with a cache."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from kafkatx.clientcore.coordinators import GROUP, find_request, found_coordinator
from kafkatx.errors import KafkaTXError
from kafkatx.types import BrokerNode
from kafkatx.wire.messages.find_coordinator import FindCoordinatorRequest

if TYPE_CHECKING:
    from kafkatx.blocking.cluster import Cluster
    from kafkatx.blocking.connection import Channel

_ONE_KEY = 3
"""The last version that looks up one key; later ones take several (KIP-699)."""

T = TypeVar("T")


class Coordinators:
    """Finds and caches the coordinators of groups or, with *key_type* TRANSACTION, of transactional ids."""

    def __init__(self, cluster: Cluster, key_type: int = GROUP) -> None:
        self._cluster = cluster
        self._key_type = key_type
        self._nodes: dict[str, BrokerNode] = {}

    def coordinator(self, group_id: str) -> BrokerNode:
        """Return the broker that coordinates a group or transactional id.

        :raises RequestError: COORDINATOR_NOT_AVAILABLE, INVALID_GROUP_ID, ...
        """
        known = self._nodes.get(group_id)
        if known is None:
            channel = self._cluster.any_broker()
            version = channel.version_for(FindCoordinatorRequest, _ONE_KEY)
            response = channel.request(find_request(group_id, self._key_type), version)
            known = self._nodes[group_id] = found_coordinator(response, group_id, self._key_type)
        return known

    def call(self, group_id: str, call: Callable[[Channel], T]) -> T:
        """Call *call* with the connection to a group's coordinator until it succeeds or fails for good.

        After COORDINATOR_LOAD_IN_PROGRESS, NOT_COORDINATOR and the like, and after a lost connection, the
        coordinator is looked up again, up to the cluster's number of *retries*.

        :raises KafkaTXError: the error of the last attempt.
        """

        def attempt() -> T:
            try:
                return call(self._cluster.connection_to(self.coordinator(group_id)))
            except KafkaTXError:
                self._nodes.pop(group_id, None)
                raise

        self._cluster.brokers()
        return self._cluster.retrying(attempt)
