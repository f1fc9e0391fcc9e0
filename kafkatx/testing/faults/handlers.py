"""The table of a broker's handlers, with injected faults before or behind each of them.

It runs in the broker's thread. :mod:`kafkatx.testing.faults.rules` says what happens to which request.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator
from functools import partial

import attrs
from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater

from kafkatx.broker.broker import Broker
from kafkatx.broker.dispatch import Api, Served
from kafkatx.broker.requests.context import RequestContext
from kafkatx.broker.requests.pending_answers import ExclusiveResponse, Outcome, Staging
from kafkatx.errors import ProtocolViolation, RequestError
from kafkatx.testing.faults.rules import Delay, Drop, Refuse, Rules
from kafkatx.wire.schema import Message

LISTS = ("topics", "topic_data", "topic_partitions")
"""The fields of requests that list topics."""


def with_faults(served: Iterable[Served], rules: Rules) -> tuple[Served, ...]:
    """Return the handlers of some APIs, to which the rules apply."""
    return tuple(Served(one.api, partial(_load, one, rules)) for one in served)


def _load(served: Served, rules: Rules) -> Api[Message, Message]:
    api = served.load()
    return attrs.evolve(api, answer=partial(_answer, api, rules, served.api.name))


def _answer(
    api: Api[Message, Message],
    rules: Rules,
    name: str,
    broker: Broker,
    request: Message,
    context: RequestContext,
) -> Outcome[Message]:
    action = rules.take(name, frozenset(_topics(broker, request)))
    if action is None:
        return api.answer(broker, request, context)
    if isinstance(action, Refuse):
        raise RequestError(action.code, "a test has injected this error")
    if isinstance(action, Drop):
        raise ProtocolViolation(f"a test drops this {name} request")
    if isinstance(action, Delay):
        return ExclusiveResponse(
            Deferred.fromCoroutine(_later(api, broker, request, context, action.seconds))
        )
    return ExclusiveResponse(Deferred.fromCoroutine(_lost(api, name, broker, request, context)))


async def _later(
    api: Api[Message, Message], broker: Broker, request: Message, context: RequestContext, seconds: float
) -> Message | None:
    await deferLater(broker.clock, seconds)
    return await _served(api, broker, request, context)


async def _lost(
    api: Api[Message, Message], name: str, broker: Broker, request: Message, context: RequestContext
) -> Message | None:
    """Serve a request, and close its connection.

    :raises ProtocolViolation: always.
    """
    await _served(api, broker, request, context)
    raise ProtocolViolation(f"a test loses the reply to this {name} request")


async def _served(
    api: Api[Message, Message], broker: Broker, request: Message, context: RequestContext
) -> Message | None:
    """Answer a request outside of its connection's round: what it stages is written at once."""
    outcome = api.answer(broker, request, context)
    if isinstance(outcome, ExclusiveResponse):
        outcome = outcome.response
    if isinstance(outcome, Staging):
        failed = broker.write_staged()
        broker.replicas.wake_waiting()
        outcome = outcome.respond(failed)
    return await outcome if isinstance(outcome, Deferred) else outcome


def _topics(broker: Broker, request: Message) -> Iterator[str]:
    """Yield the topics that a request names, also by id."""
    for field in LISTS:
        for one in getattr(request, field, None) or ():
            if isinstance(one, str):
                yield one
                continue
            name = getattr(one, "name", None) or getattr(one, "topic", None)
            topic_id = getattr(one, "topic_id", None)
            if isinstance(name, str) and name:
                yield name
            elif isinstance(topic_id, uuid.UUID) and topic_id in broker.metadata.state.topic_names:
                yield broker.metadata.state.topic_names[topic_id]
