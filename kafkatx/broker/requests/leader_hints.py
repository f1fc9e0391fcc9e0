"""Hints of new leaders in replies of Produce and Fetch: clients need not ask for metadata (KIP-951). Pure.

A partition that this broker does not lead, or leads in another epoch than the client thinks, is refused with
the leader and the epoch that this broker knows; the reply has the address of each such leader.
"""

from __future__ import annotations

from kafkatx.errors import ErrorCode
from kafkatx.types import BrokerNode, ClusterState
from kafkatx.wire.leaders import LeaderIdAndEpoch, NodeEndpoint
from kafkatx.wire.messages.fetch import FetchResponse
from kafkatx.wire.messages.produce import ProduceResponse

PRODUCE_SINCE, FETCH_SINCE = 10, 16
HINTED = frozenset({ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH})


class _Leaders:
    """The leaders of refused partitions, as a reply names them.

    :ivar nodes: their brokers by id.
    """

    def __init__(self, state: ClusterState, listener: str) -> None:
        self._state = state
        self._listener = listener
        self.nodes: dict[int, BrokerNode] = {}

    def hint(self, topic: str, number: int) -> LeaderIdAndEpoch | None:
        """Return the leader of a partition; None if it has none that is live."""
        known = self._state.topics.get(topic)
        if known is None or not 0 <= number < len(known.partitions):
            return None
        partition = known.partitions[number]
        node = self._state.brokers.get(partition.leader)
        if node is None:
            return None
        self.nodes[node.id] = node
        return LeaderIdAndEpoch(partition.leader, partition.leader_epoch)

    def endpoints(self) -> list[NodeEndpoint]:
        """Return the addresses of these leaders."""
        return [
            NodeEndpoint(node.id, *node.address(self._listener), node.rack) for node in self.nodes.values()
        ]


def hint_producers(response: ProduceResponse, state: ClusterState, listener: str = "") -> None:
    """Put the leaders of refused partitions into a response, and their addresses for a listener."""
    leaders = _Leaders(state, listener)
    for topic in response.responses:
        for result in topic.partition_responses:
            if result.error_code in HINTED:
                result.current_leader = leaders.hint(topic.name, result.index)
    response.node_endpoints = leaders.endpoints()


def hint_consumers(response: FetchResponse, state: ClusterState, listener: str = "") -> None:
    """Put the leaders of refused partitions into a response, and their addresses for a listener."""
    leaders: _Leaders | None = None
    for topic in response.responses:
        for result in topic.partitions:
            if result.error_code and result.error_code in HINTED:
                leaders = leaders or _Leaders(state, listener)
                name = topic.topic or state.topic_names.get(topic.topic_id, "")
                result.current_leader = leaders.hint(name, result.partition_index)
    if leaders is not None:
        response.node_endpoints = leaders.endpoints()
