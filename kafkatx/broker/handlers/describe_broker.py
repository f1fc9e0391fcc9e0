"""DescribeBroker (key 10103), version 0: version, clock, process and machine of this broker.

It is kafkatx's own and not listed by ApiVersions. A worker reads the facts; of log dirs it tells those that
have not failed.
"""

from __future__ import annotations

from twisted.internet.defer import Deferred

from kafkatx import __version__
from kafkatx.broker.broker import Broker
from kafkatx.broker.dispatch import Api
from kafkatx.broker.requests.context import RequestContext
from kafkatx.errors import ErrorCode
from kafkatx.machine.facts import HTTP_URL, machine_facts, process_facts, volume_facts
from kafkatx.wire.messages.describe_broker import (
    BrokerFact,
    DescribeBrokerRequest,
    DescribeBrokerResponse,
)


def answer(
    broker: Broker, request: DescribeBrokerRequest, context: RequestContext
) -> Deferred[DescribeBrokerResponse]:
    """Describe this broker."""
    paths = [one.path for one in broker.store.dirs if one.error is None]

    def read() -> dict[str, str]:
        facts = {**process_facts(), **machine_facts(), **volume_facts(paths)}
        if broker.http_urls:
            facts[HTTP_URL] = broker.http_urls[0]
        return facts

    def respond(facts: dict[str, str]) -> DescribeBrokerResponse:
        return DescribeBrokerResponse(
            broker_id=broker.node_id,
            broker_version=__version__,
            time_ms=broker.now_ms(),
            facts=[BrokerFact(*pair) for pair in facts.items()],
        )

    return broker.workers("volumes")(read).addCallback(respond)


def refuse(
    request: DescribeBrokerRequest, context: RequestContext, code: ErrorCode, message: str
) -> DescribeBrokerResponse:
    """Refuse the request with an error and a message."""
    return DescribeBrokerResponse(error_code=code, error_message=message)


API = Api(DescribeBrokerRequest, DescribeBrokerResponse, answer, refuse)
