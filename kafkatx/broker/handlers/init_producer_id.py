"""InitProducerId (key 22), versions 0-5.

Deviation from Apache Kafka: a transactional id is refused with TRANSACTIONAL_ID_AUTHORIZATION_FAILED, for
there are no transactions (:mod:`kafkatx.broker.transactions` tells why with that). Without one, every request
gets a new producer id, as there.
"""

from __future__ import annotations

from twisted.internet.defer import Deferred

from kafkatx.broker.broker import Broker
from kafkatx.broker.dispatch import Api
from kafkatx.broker.requests.context import RequestContext
from kafkatx.errors import ErrorCode
from kafkatx.types import NO_PRODUCER_EPOCH, NO_PRODUCER_ID
from kafkatx.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse


def answer(
    broker: Broker, request: InitProducerIdRequest, context: RequestContext
) -> Deferred[InitProducerIdResponse]:
    """Allocate a producer id."""
    if request.transactional_id is not None:
        raise broker.transactions.refusal(context.peer, context.client_id, request.transactional_id)
    return Deferred.fromCoroutine(_new_id(broker))


async def _new_id(broker: Broker) -> InitProducerIdResponse:
    return InitProducerIdResponse(producer_id=await broker.producer_ids.next(), producer_epoch=0)


def refuse(
    request: InitProducerIdRequest, context: RequestContext, code: ErrorCode, message: str
) -> InitProducerIdResponse:
    """Refuse the request with an error, without an id."""
    return InitProducerIdResponse(0, code, NO_PRODUCER_ID, NO_PRODUCER_EPOCH)


API = Api(InitProducerIdRequest, InitProducerIdResponse, answer, refuse)
