"""Requests that only brokers of kafkatx know, to each broker of a cluster.

ApiVersions does not list them, so a client cannot tell beforehand; another broker closes the connection.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from kafkatx.clientcore.errors import ClosedByPeer
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.wire.schema import Message

if TYPE_CHECKING:
    from kafkatx.blocking.cluster import Cluster
    from kafkatx.types import BrokerNode

T = TypeVar("T")

VERSION = 0


class NotKafkatx(RequestError):
    """A broker does not know a request: it is not kafkatx, or older."""

    def __init__(self, address: str, name: str) -> None:
        super().__init__(
            ErrorCode.UNSUPPORTED_VERSION,
            f"the broker at {address} has closed the connection on {name}: only brokers of kafkatx know this"
            " request, and not the older ones",
        )


class OwnRequests:
    """Sends such requests through a :class:`Cluster`, which the caller closes."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._closed: set[int] = set()

    def ask_all(self, request: Message, take: Callable[[BrokerNode, Message], T]) -> list[T]:
        """Send a request to each broker; return what *take* makes of the replies, by the ids of the brokers.

        :raises NotKafkatx: a broker is not kafkatx, or older than the request.
        :raises ConnectionFailed: a broker does not answer.
        """
        nodes = sorted(self._cluster.metadata([]).brokers.values(), key=lambda node: node.id)
        return [take(node, self._cluster.retrying(partial(self._ask, node, request))) for node in nodes]

    def _ask(self, node: BrokerNode, request: Message) -> Message:
        channel = self._cluster.connection_to(node)
        try:
            response: Message = channel.request(request, VERSION)
        except ClosedByPeer:
            if node.id in self._closed:  # twice in a row: it does so again and again
                name = type(request).__name__.removesuffix("Request")
                raise NotKafkatx(f"{node.host}:{node.port}", name) from None
            self._closed.add(node.id)
            raise
        self._closed.discard(node.id)
        return response
