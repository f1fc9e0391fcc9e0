"""The event stream of a page: each second it gets what has changed of the topics that it follows.

A topic of a stream is a request of the API that is made again and again: ``overview``, ``brokers``,
``topic:NAME`` and ``group:ID``. It is made once for all streams of one user, and not for a stream that is
slow. It touches the clock.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import attrs
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import LoopingCall
from twisted.logger import Logger

from kafkatx.broker.console.errors import as_value, found_error, invalid
from kafkatx.broker.console.route import API, Route
from kafkatx.errors import KafkaTXError
from kafkatx.web.calls import Answer, Call, as_json
from kafkatx.web.event_stream import EventStream, EventStreams

INTERVAL_S = 1.0
MOST_TOPICS = 20
"""Topics of one stream."""

PATTERNS: Mapping[str, str] = MappingProxyType(
    {"overview": "/overview", "brokers": "/brokers", "topic": "/topics/{name}", "group": "/groups/{id}"}
)
"""The route of each kind of topic."""


@attrs.define(eq=False)
class _Follower:
    """A stream.

    :ivar sent: what was sent last of each topic, as JSON.
    """

    call: Call
    topics: Sequence[str]
    stream: EventStream
    sent: dict[str, bytes] = attrs.Factory(dict)


class EventFeed:
    """The streams of a listener.

    :param routes: the API.
    :param look: called each second while there are streams.
    """

    _log = Logger()

    def __init__(
        self,
        streams: EventStreams,
        clock: IReactorTime,
        routes: Sequence[Route],
        look: Callable[[], None],
    ) -> None:
        self._look = look
        self._streams = streams
        self._routes = {route.pattern: route for route in routes if route.method == "GET"}
        self._followers: dict[EventStream, _Follower] = {}
        self._loop = LoopingCall(lambda: Deferred.fromCoroutine(self._round()))
        self._loop.clock = self._clock = clock

    def routes(self) -> Sequence[Route]:
        """Return the route of the streams."""
        query = {"topics": f"{', '.join(PATTERNS)}: names after a colon; separated by commas"}
        return [Route("GET", "/events", self.follow, "Follow what changes, by Server-Sent Events", query)]

    def follow(self, call: Call) -> Answer:
        """Open a stream.

        :raises ConsoleError: 400: there is no such topic.
        :raises WebError: 503: too many streams are open.
        """
        topics = list(dict.fromkeys(filter(None, call.text("topics", "overview").split(","))))
        if not topics or len(topics) > MOST_TOPICS:
            raise invalid(f"topics: name 1 to {MOST_TOPICS}")
        for topic in topics:
            self._find(topic)
        stream = self._streams.open(call.share)
        self._followers[stream] = _Follower(call, topics, stream)
        stream.on_end = lambda: self._forget(stream)
        if not self._loop.running:
            self._loop.start(INTERVAL_S, now=False).addErrback(
                lambda failure: self._log.failure("the console's events have ended", failure)
            )
        self._clock.callLater(0, self._begin, stream)
        return stream.answer()

    def _begin(self, stream: EventStream) -> None:
        """Send the first state: the answer has begun."""
        follower = self._followers.get(stream)
        if follower is not None:
            Deferred.fromCoroutine(self._tell(follower, {}))

    def _find(self, topic: str) -> tuple[Route, Sequence[str]]:
        kind, colon, name = topic.partition(":")
        route = self._routes.get(PATTERNS.get(kind, ""))
        if route is None or bool(colon) != ("{" in route.pattern):
            raise invalid(f"topics: {topic[:100]!r} is none of {', '.join(PATTERNS)}")
        return route, [name] if colon else []

    def _forget(self, stream: EventStream) -> None:
        self._followers.pop(stream, None)
        if not self._followers and self._loop.running:
            self._loop.stop()

    async def _round(self) -> None:
        """Tell each stream what has changed in the last second."""
        self._look()
        known: dict[tuple[str, str, str], bytes] = {}
        for follower in list(self._followers.values()):
            await self._tell(follower, known)

    async def _tell(self, follower: _Follower, known: dict[tuple[str, str, str], bytes]) -> None:
        """Send what has changed.

        :param known: what others were told in this round.
        """
        if follower.stream.is_behind or follower.stream.ended:
            return
        changed = {}
        for topic in follower.topics:
            key = (follower.call.session.principal, follower.call.client, topic)
            if key not in known:
                known[key] = await self._ask(follower.call, topic)
            if follower.sent.get(topic) != known[key]:
                changed[topic] = follower.sent[topic] = known[key]
        if changed:
            follower.stream.send_encoded("update", _joined(changed))

    async def _ask(self, call: Call, topic: str) -> bytes:
        route, arguments = self._find(topic)
        path = (*API, *(arguments[0] if "{" in part else part for part in route.pattern.split("/")[1:]))
        try:
            found = route.answer(attrs.evolve(call, path=path, query={}), *arguments)
            result = await found if inspect.isawaitable(found) else found
        except KafkaTXError as error:
            result = {"error": as_value(found_error(error))}
        except Exception:
            self._log.failure("an event of the console failed: {topic}", topic=topic)
            result = {"error": {"code": "UNKNOWN_SERVER_ERROR", "message": "the broker's log says why"}}
        return as_json(result)


def _joined(changed: Mapping[str, bytes]) -> bytes:
    """Return an object of JSON with values that are JSON already."""
    return b"{%b}" % b",".join(as_json(name) + b":" + value for name, value in changed.items())
