"""Samples of the brokers of the cluster. It touches the clock, and asks the other brokers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf

import attrs
from twisted.internet.defer import Deferred, gatherResults
from twisted.logger import Logger

from kafkatx.broker.broker import Broker
from kafkatx.broker.console.cluster.log_ends import ask_patiently
from kafkatx.broker.history.packed import unpack
from kafkatx.broker.history.window import Window
from kafkatx.broker.peers import Peers
from kafkatx.errors import KafkaTXError
from kafkatx.types import BrokerNode
from kafkatx.wire.messages.describe_samples import DescribeSamplesRequest, DescribeSamplesResponse

KEPT_S, FORGOTTEN_S = 2.0, 10.0
"""Seconds for which the newest samples of another broker are not asked for again, and are shown at most."""

SILENT_S = 10.0
"""Seconds for which a broker that has not answered is not asked again: nobody waits for it meanwhile."""

VERSION = 0
"""The version of the request, which ApiVersions does not list."""

Columns = Mapping[str, Sequence[float]]
"""Values of each series over time; NaN where nothing is known."""

NOTHING: Mapping[str, float] = {}


@attrs.define
class _Other:
    """Another broker, as far as it has told.

    :ivar told_s: the time of its newest samples.
    :ivar asked_s: the time of the last request for the newest samples.
    :ivar silent_s: it is not asked before this time.
    :ivar is_asked: a request for them is under way.
    """

    node: BrokerNode
    latest: Mapping[str, float] = NOTHING
    told_s: float = -inf
    asked_s: float = -inf
    silent_s: float = -inf
    is_asked: bool = False


class ClusterSamples:
    """The samples of this broker and of the others.

    A broker without samples has no console, does not answer, or does not know the request.

    :param peers: connections to the other brokers.
    """

    _log = Logger()

    def __init__(self, broker: Broker, peers: Peers) -> None:
        self._broker = broker
        self._peers = peers
        self._others: dict[int, _Other] = {}

    async def latest(self) -> Mapping[int, Mapping[str, float]]:
        """Return the newest samples by broker; nothing of those without samples.

        A broker is waited for if nothing is known of it; else its samples may be some seconds old.
        """
        now_s = self._broker.clock.seconds()
        first = []
        for other in self._follow():
            if not other.is_asked and now_s - other.asked_s >= KEPT_S and now_s >= other.silent_s:
                asked = Deferred.fromCoroutine(self._refresh(other))
                if other.told_s == -inf:
                    first.append(asked)
        await gatherResults(first)
        now_s = self._broker.clock.seconds()
        found = {self._broker.node_id: self._broker.samples.history.latest}
        for other in self._others.values():
            if now_s - other.told_s <= FORGOTTEN_S:
                found[other.node.id] = other.latest
        return {broker_id: latest for broker_id, latest in found.items() if latest}

    async def _refresh(self, other: _Other) -> None:
        other.is_asked, other.asked_s = True, self._broker.clock.seconds()
        try:
            response = await self._ask(other, DescribeSamplesRequest([], 0, 0, 0))
            if response is not None:
                other.latest = {each.name: each.value for each in response.latest}
                other.told_s = self._broker.clock.seconds()
        finally:
            other.is_asked = False

    async def over_time(
        self, names: Sequence[str], window: Window, only: int | None = None
    ) -> Mapping[int, Columns]:
        """Return series over time by broker; nothing of those without samples.

        :param only: the broker that is asked; None: all.
        """
        now_s, own = self._broker.clock.seconds(), self._broker.node_id
        others = [
            other for other in self._follow() if only in (None, other.node.id) and now_s >= other.silent_s
        ]
        asked = [Deferred.fromCoroutine(self._columns(other, names, window)) for other in others]
        answers = await gatherResults(asked)
        told = {other.node.id: columns for other, columns in zip(others, answers, strict=True)}
        if only in (None, own):
            history = self._broker.samples.history
            told[own] = {name: history.read(name, window) for name in names} if history.latest else None
        return {broker_id: columns for broker_id, columns in told.items() if columns is not None}

    async def _columns(self, other: _Other, names: Sequence[str], window: Window) -> Columns | None:
        request = DescribeSamplesRequest(list(names), window.step_ms, window.first, window.count)
        response = await self._ask(other, request)
        if response is None or not response.latest:
            return None
        try:
            if [each.name for each in response.series] != request.series:
                raise ValueError("its series are not those that were asked for")
            return {each.name: unpack(each.values, window.count) for each in response.series}
        except ValueError as error:
            self._broker.limited_log.warn(
                "broker {id} tells wrong samples: {error}", id=other.node.id, error=error
            )
            return None

    async def _ask(self, other: _Other, request: DescribeSamplesRequest) -> DescribeSamplesResponse | None:
        """Return the answer of a broker; None if there is none."""
        clock, node = self._broker.clock, other.node
        try:
            response: DescribeSamplesResponse = await ask_patiently(
                clock, self._peers, node, request, VERSION
            )
            if not response.error_code:
                return response
            self._broker.limited_log.warn(
                "broker {id} refuses to tell its samples; charts of the console are without them: {error}",
                id=node.id,
                error=response.error_message,
            )
        except KafkaTXError as error:
            self._log.debug("broker {id} does not tell its samples: {error}", id=node.id, error=error)
        other.silent_s = clock.seconds() + SILENT_S
        return None

    def _follow(self) -> Sequence[_Other]:
        """Return the other live brokers; forget those that are gone, or have registered again."""
        nodes = self._broker.metadata.state.brokers
        for broker_id, other in list(self._others.items()):
            if nodes.get(broker_id) != other.node:
                del self._others[broker_id]
        for broker_id, node in nodes.items():
            if broker_id != self._broker.node_id:
                self._others.setdefault(broker_id, _Other(node))
        return list(self._others.values())
