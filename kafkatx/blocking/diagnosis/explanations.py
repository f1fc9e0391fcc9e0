"""Explanations of brokers why a group or a client is slow."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import attrs

from kafkatx.blocking.coordinators import Coordinators
from kafkatx.blocking.diagnosis.own_requests import VERSION, NotKafkatx, OwnRequests
from kafkatx.clientcore.errors import ClosedByPeer, check
from kafkatx.wire.messages.describe_explanations import (
    DescribeExplanationsRequest,
    DescribeExplanationsResponse,
    ExplanationEntry,
)

if TYPE_CHECKING:
    from kafkatx.blocking.cluster import Cluster
    from kafkatx.blocking.connection import Channel
    from kafkatx.types import BrokerNode
    from kafkatx.wire.schema import Message

OF_ALL = ("no-client-metrics", "nothing-found")
"""Rules whose notes are about a client as a whole only if all brokers have them."""


@attrs.frozen
class BrokerExplanations:
    """The sentences of one broker."""

    broker: int
    entries: tuple[ExplanationEntry, ...]


class Explanations:
    """Asks brokers for explanations through a :class:`Cluster`, which the caller closes."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._coordinators = Coordinators(cluster)

    def of_group(self, group_id: str) -> BrokerExplanations:
        """Return what the coordinator of a group says; it takes some seconds.

        :raises NotKafkatx: the coordinator is not kafkatx, or older.
        :raises RequestError: GROUP_AUTHORIZATION_FAILED, INVALID_GROUP_ID, ...
        """
        request = DescribeExplanationsRequest(group_id)
        try:
            response = self._coordinators.call(group_id, partial(_ask, request))
        except ClosedByPeer:
            node = self._coordinators.coordinator(group_id)
            raise NotKafkatx(f"{node.host}:{node.port}", "DescribeExplanations") from None
        return _said(self._coordinators.coordinator(group_id), response)

    def of_client(self, client_id: str) -> list[BrokerExplanations]:
        """Return what all brokers say about a client id; it takes some seconds for each.

        :raises NotKafkatx: a broker is not kafkatx, or older.
        """
        request = DescribeExplanationsRequest(None, client_id)
        return united(OwnRequests(self._cluster).ask_all(request, _said))


def united(every: Sequence[BrokerExplanations]) -> list[BrokerExplanations]:
    """Leave out what is no news if another broker knows more, and what each of them would say again."""
    missing = {
        rule for rule in OF_ALL if not all(rule in [one.rule for one in said.entries] for said in every)
    }
    found, seen = [], set(missing)
    for said in every:
        entries = [one for one in said.entries if one.rule not in seen]
        seen |= {one.rule for one in said.entries if one.rule in OF_ALL}
        found.append(attrs.evolve(said, entries=tuple(entries)))
    return found


def _ask(request: DescribeExplanationsRequest, channel: Channel) -> DescribeExplanationsResponse:
    response: DescribeExplanationsResponse = channel.request(request, VERSION)
    check(response.error_code, "explanations", response.error_message)
    return response


def _said(node: BrokerNode, response: Message) -> BrokerExplanations:
    assert isinstance(response, DescribeExplanationsResponse)
    check(response.error_code, f"explanations of broker {node.id}", response.error_message)
    return BrokerExplanations(node.id, tuple(response.explanations))
