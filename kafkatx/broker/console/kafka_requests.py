"""Kafka requests of the console's users: by this broker's handlers, or at another broker.

Both are checked by the guards of the table of demands, as requests of Kafka clients are: what the user may
not name is taken out, the rest is answered, and the refusals are added. It uses connections of
:mod:`kafkatx.broker.peers`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twisted.internet.defer import Deferred

from kafkatx.broker.broker import Broker
from kafkatx.broker.dispatch import Served
from kafkatx.broker.guards.guard import guarded
from kafkatx.broker.handlers import SERVED
from kafkatx.broker.peers import Peers
from kafkatx.broker.requests.context import RequestContext
from kafkatx.broker.requests.pending_answers import ExclusiveResponse, Outcome, Staging
from kafkatx.errors import ErrorCode, ProtocolViolation, RequestError
from kafkatx.net.requests import Peer
from kafkatx.types import BrokerNode
from kafkatx.web.calls import Call
from kafkatx.wire.schema import Message

CLIENT_ID = "kafkatx-console"


def peer_of(call: Call) -> Peer:
    """Return the client of a request, as guards know clients."""
    return Peer(call.client, 0, "", 0, call.session)


class KafkaRequests:
    """Makes the requests of one broker's console.

    :param peers: connections to the other brokers; by default those of coordinators.
    """

    def __init__(
        self, broker: Broker, peers: Peers | None = None, served: tuple[Served, ...] = SERVED
    ) -> None:
        self._broker = broker
        self._peers = peers or broker.peers
        self._served = {line.api.key: line for line in served}

    async def ask(self, call: Call, request: Message, node: BrokerNode | None = None) -> Any:
        """Return the response to a request.

        :param request: it may be changed by that.
        :param node: the broker that answers; None, or this one: this broker.
        :raises RequestError: all of it is refused, or the user may not do it.
        :raises KafkaTXError: the other broker did not answer.
        """
        served = self._served[request.API_KEY]
        api, version = served.load(), served.api.versions[-1]
        answer: Callable[[Broker, Any, RequestContext], Outcome[Any]] = api.answer
        if node is not None and node.id != self._broker.node_id:

            def answer(broker: Broker, asked: Message, context: RequestContext) -> Deferred[Any]:
                return self._peers.request(node, asked, None if served.api.listed else version)

        if self._broker.authorization is not None:
            answer = guarded(self._broker.authorization, served.api.key, answer, api.refuse)
        context = RequestContext(served.api.key, version, CLIENT_ID, peer_of(call))
        try:
            return await self._outcome(answer(self._broker, request, context))
        except ProtocolViolation as error:
            raise RequestError(ErrorCode.INVALID_REQUEST, str(error)) from None

    async def _outcome(self, outcome: Outcome[Any]) -> Any:
        if isinstance(outcome, Staging):
            outcome = outcome.respond(self._broker.write_staged())
            self._broker.replicas.wake_waiting()
        if isinstance(outcome, ExclusiveResponse):
            outcome = outcome.response
        return await outcome if isinstance(outcome, Deferred) else outcome
