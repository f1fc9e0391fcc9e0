"""The routes about messages: searches and tails by Server-Sent Events, and messages that people type."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Final

from twisted.internet.defer import CancelledError, Deferred
from twisted.logger import Logger
from twisted.python.failure import Failure

from kafkatx.acls import AclOperation, ResourceType, enum_text
from kafkatx.broker.console.api.bodies import Fields
from kafkatx.broker.console.errors import ConsoleError, as_value, found_error
from kafkatx.broker.console.kafka_requests import peer_of
from kafkatx.broker.console.messages.produce import BODY, Produce
from kafkatx.broker.console.messages.query import QUERY, Limits, Query
from kafkatx.broker.console.messages.schema_source import SchemaSource
from kafkatx.broker.console.messages.search import Search
from kafkatx.broker.console.messages.steps import Steps
from kafkatx.broker.console.messages.tail import Tail
from kafkatx.broker.console.messages.topic_reader import TopicReader
from kafkatx.broker.console.parts import ConsoleParts
from kafkatx.broker.console.route import Route
from kafkatx.config.table import network as n
from kafkatx.errors import KafkaTXError
from kafkatx.fair_shares import FairPlaces
from kafkatx.views.encoders import FORMATS
from kafkatx.views.filter.compiler import Filter
from kafkatx.views.filter.errors import FilterError
from kafkatx.views.formats.masks import read_rule
from kafkatx.web.calls import Answer, Call
from kafkatx.web.event_stream import EventStream

_TAIL_QUERY = {name: QUERY[name] for name in QUERY if name not in ("from", "positions", "count", "bytes")}

MOST_SEARCHES: Final = 25
"""Searches at the same time: each holds records of many partitions. Users have fair shares of them."""

Work = Callable[[Query, TopicReader, Steps, EventStream], Awaitable[None]]


class Messages:
    """The handlers."""

    _log = Logger()

    def __init__(self, parts: ConsoleParts) -> None:
        self._parts = parts
        broker = parts.broker
        self._broker = broker
        self._schemas = SchemaSource(lambda: parts.registry.parts.application, broker.clock)
        self._produce = Produce(broker, parts.kafka, parts.views, self._schemas)
        self._limits = limits_of(parts)
        self._searches: FairPlaces[EventStream] = FairPlaces(MOST_SEARCHES)

    def routes(self) -> Sequence[Route]:
        """Return the routes."""
        return [
            Route("GET", "/messages", self.search, "Search in records, by Server-Sent Events", QUERY),
            Route(
                "GET", "/messages/tail", self.tail, "Follow new records, by Server-Sent Events", _TAIL_QUERY
            ),
            Route("GET", "/messages/formats", self.formats, "List the formats of keys and values"),
            Route(
                "GET", "/messages/filter", self.check_filter, "Check a filter", {"filter": "the expression"}
            ),
            Route("POST", "/messages", self.produce, "Produce a record", body=BODY, changes=True),
        ]

    def formats(self, call: Call) -> object:
        """Return the names of formats: of those that are shown, and those that can be typed."""
        return {"formats": list(self._limits.formats), "producible": list(FORMATS)}

    def check_filter(self, call: Call) -> object:
        """Return the fault of a filter, and its place."""
        try:
            Filter(call.text("filter"))
        except FilterError as error:
            return {"valid": False, "message": str(error), "line": error.line, "column": error.column}
        return {"valid": True, "message": None, "line": None, "column": None}

    def search(self, call: Call) -> Answer:
        """Begin a search.

        :raises ConsoleError: a parameter is wrong, or the user may not read the topic.
        :raises RequestError: there is no such topic.
        :raises WebError: 503: too many streams are open.
        """

        async def work(query: Query, reader: TopicReader, steps: Steps, stream: EventStream) -> None:
            self._searches.add(call.share, stream)
            try:
                await Search(query, reader, steps, stream, self._broker.clock.seconds).run()
            finally:
                self._searches.remove(stream)

        crowd = self._searches.crowded(call.share)
        if crowd and crowd[-1] in self._searches.of(call.share):
            raise ConsoleError(
                503,
                "TOO_MANY_SEARCHES",
                f"{len(self._searches)} searches are going on: try again in a moment",
            )
        answer = self._begin(call, work)
        if crowd:
            crowd[-1].drop()
        return answer

    def tail(self, call: Call) -> Answer:
        """Begin a tail; raises as :meth:`search`."""

        def work(query: Query, reader: TopicReader, steps: Steps, stream: EventStream) -> Awaitable[None]:
            return Tail(query, reader, steps, stream, self._broker.clock).run()

        return self._begin(call, work)

    async def produce(self, call: Call) -> object:
        """Produce a message."""
        fields = Fields.of(call)
        topic = fields.text("topic")
        with self._parts.actions.change(call, "produce", f"topic {topic[:249]}"):
            self._check(call, AclOperation.WRITE, topic)
            return await self._produce.produce(call, fields)

    def _check(self, call: Call, operation: AclOperation, topic: str) -> None:
        """Check a right of the user, whether there is such a topic or not.

        :raises ConsoleError: 403: the user has it not.
        """
        authorization = self._broker.authorization
        if authorization is not None and not authorization.allows(
            peer_of(call), operation, ResourceType.TOPIC, topic
        ):
            message = f"{call.session.principal} may not {enum_text(operation)} topic {topic[:249]}"
            raise ConsoleError(403, "TOPIC_AUTHORIZATION_FAILED", message)

    # --- streams

    def _begin(self, call: Call, work: Work) -> Answer:
        query, broker = Query.of(call, self._limits), self._broker
        topic = query.view.topic
        check = partial(self._check, call, AclOperation.READ, topic)
        check()
        reader = TopicReader(topic, broker.metadata, broker.topics, self._parts.peers, broker.clock)
        query.chosen(reader.count)
        steps = Steps(broker, reader, self._parts.views, self._schemas, query, call, check)
        stream = self._parts.streams.open(call.share)
        running = Deferred.fromCoroutine(self._run(work(query, reader, steps, stream), stream))
        stream.on_end = running.cancel
        running.addErrback(self._failed)
        return stream.answer()

    async def _run(self, work: Awaitable[None], stream: EventStream) -> None:
        try:
            await work
        except KafkaTXError as error:
            stream.send("failure", as_value(found_error(error)))
        except CancelledError:
            raise  # the client has gone
        except Exception:
            self._log.failure("a search in messages failed")
            stream.send("failure", {"code": "UNKNOWN_SERVER_ERROR", "message": "the broker's log says why"})
        stream.end()

    def _failed(self, failure: Failure) -> None:
        if not failure.check(CancelledError):
            self._log.failure("a stream of messages failed", failure)


def limits_of(parts: ConsoleParts) -> Limits:
    """Return the limits that the settings put on searches.

    :raises SettingError: a masking rule is none.
    """
    config = parts.broker.config
    rules = tuple(map(read_rule, config[n.CONSOLE_MASKING]))
    return Limits(config[n.CONSOLE_MESSAGES], config[n.CONSOLE_SCAN_MAX_BYTES], rules, parts.decoders)


def routes(parts: ConsoleParts) -> Sequence[Route]:
    """Return the routes."""
    return Messages(parts).routes()
