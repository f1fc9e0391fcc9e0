"""SaslHandshake (key 17), versions 0-1: see :mod:`kafkatx.broker.logins.login`.

As in Apache Kafka, it is listed at every listener, and refused at one without SASL.
"""

from __future__ import annotations

from kafkatx.broker.broker import Broker
from kafkatx.broker.dispatch import Api
from kafkatx.broker.requests.context import RequestContext
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse


def answer(broker: Broker, request: SaslHandshakeRequest, context: RequestContext) -> SaslHandshakeResponse:
    """Begin the login of the connection."""
    login = context.peer.login
    if login is None:
        raise RequestError(ErrorCode.ILLEGAL_SASL_STATE, "this listener has no SASL")
    return login.handshake(request.mechanism, context.version)


def refuse(
    request: SaslHandshakeRequest, context: RequestContext, code: ErrorCode, message: str
) -> SaslHandshakeResponse:
    """Refuse the request."""
    return SaslHandshakeResponse(code, [])


API = Api(SaslHandshakeRequest, SaslHandshakeResponse, answer, refuse)
