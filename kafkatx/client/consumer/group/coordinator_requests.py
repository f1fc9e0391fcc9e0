"""A member's requests to its group's coordinator: JoinGroup, SyncGroup, Heartbeat, LeaveGroup."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.defer import TimeoutError as TimedOut

from kafkatx.client.consumer.group.commits import LANE
from kafkatx.clientcore.errors import RequestTimedOut
from kafkatx.clientcore.group.membership import MemberSettings, SendRequest
from kafkatx.clientcore.group.membership.coordinator_errors import fatal_error
from kafkatx.errors import ErrorCode
from kafkatx.networkclient.cluster import Cluster
from kafkatx.wire.messages.join_group import JoinGroupRequest

SEPARATE_LANE = "group leave"
SEPARATE_TIMEOUT_S = 1.0
"""How long a LeaveGroup sent over the separate connection waits for its response. If the coordinator does not
get it, it removes the member when the session expires."""

STATIC_SINCE = 5
"""The first version of JoinGroup with static members (KIP-345)."""


class CoordinatorRequests:
    """Sends the requests of one member."""

    def __init__(self, cluster: Cluster, settings: MemberSettings) -> None:
        self._cluster = cluster
        self._settings = settings

    async def send(self, action: SendRequest) -> Any:
        """Send a request once; return its response.

        A request with ``separate_connection`` uses another connection, because a broker reads nothing behind
        a waiting JoinGroup.

        :raises KafkaTXError: there is no response, or the broker is too old for a static member.
        """
        if not action.separate_connection:
            return await self._request(action, LANE)
        sending = Deferred.fromCoroutine(self._request(action, SEPARATE_LANE))
        try:
            return await sending.addTimeout(SEPARATE_TIMEOUT_S, self._cluster.reactor)
        except TimedOut:
            message = f"{type(action.request).__name__} was not answered within {SEPARATE_TIMEOUT_S:g} s"
            raise RequestTimedOut(message) from None

    async def _request(self, action: SendRequest, lane: str) -> Any:
        node_id = await self._cluster.coordinator(self._settings.group_id)
        if isinstance(action.request, JoinGroupRequest) and self._settings.group_instance_id is not None:
            version = await self._cluster.version_for(node_id, JoinGroupRequest, lane=lane)
            if version < STATIC_SINCE:
                raise fatal_error(ErrorCode.UNSUPPORTED_VERSION, self._settings)
        timeout_s = action.timeout_ms / 1000 if action.timeout_ms else None
        return await self._cluster.request(node_id, action.request, lane=lane, timeout_s=timeout_s)
