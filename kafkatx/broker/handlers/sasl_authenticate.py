"""SaslAuthenticate (key 36), versions 0-2: see :mod:`kafkatx.broker.logins.login`.

As in Apache Kafka, it is listed at every listener, and refused at one without SASL.
"""

from __future__ import annotations

from twisted.internet.defer import Deferred

from kafkatx.broker.broker import Broker
from kafkatx.broker.dispatch import Api
from kafkatx.broker.requests.context import RequestContext
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.wire.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse


def answer(
    broker: Broker, request: SaslAuthenticateRequest, context: RequestContext
) -> Deferred[SaslAuthenticateResponse]:
    """Go on with the login of the connection."""
    login = context.peer.login
    if login is None:
        raise RequestError(ErrorCode.ILLEGAL_SASL_STATE, "this listener has no SASL")
    return login.authenticate(bytes(request.auth_bytes))


def refuse(
    request: SaslAuthenticateRequest, context: RequestContext, code: ErrorCode, message: str
) -> SaslAuthenticateResponse:
    """Refuse the request."""
    return SaslAuthenticateResponse(code, message)


API = Api(SaslAuthenticateRequest, SaslAuthenticateResponse, answer, refuse)
