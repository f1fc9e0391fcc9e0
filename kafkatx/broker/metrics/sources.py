"""The parts of a broker that collectors read. Values only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias

import attrs
from twisted.internet.defer import Deferred

from kafkatx.broker.broker import Broker
from kafkatx.broker.metrics.samples import Samples
from kafkatx.net.poll_meter import PollMeter
from kafkatx.net.server import KafkaServerFactory
from kafkatx.web.server import WebServerFactory

if TYPE_CHECKING:
    from kafkatx.net.tls.listener import TlsListeners

Steps: TypeAlias = "Iterator[Deferred[None] | None]"
"""Work in steps of less than a millisecond; a Deferred is waited for before the next step. It never fails."""


class Collector(Protocol):
    """Reads a part of the broker."""

    def collect(self, samples: Samples) -> Steps:
        """Add samples, a step at a time; the broker goes on between two steps."""


@attrs.frozen(eq=False)
class Sources:
    """The parts of a broker.

    :ivar server: the connections of Kafka's protocol.
    :ivar tls: the listeners with TLS; None if there are none.
    :ivar meter: times the reactor; None if it is of a kind that cannot be timed.
    :ivar web: the listeners of HTTP.
    """

    broker: Broker
    server: KafkaServerFactory
    tls: TlsListeners | None
    meter: PollMeter | None
    web: Sequence[WebServerFactory]
