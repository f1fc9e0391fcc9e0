"""DescribeUserScramCredentials (key 50), version 0: mechanisms and iterations of users (KIP-554).

Error messages are those of Kafka's ``ScramControlManager`` and ``ScramPublisher``'s image.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from kafkatx.broker.broker import Broker
from kafkatx.broker.dispatch import Api
from kafkatx.broker.requests.context import RequestContext
from kafkatx.errors import ErrorCode
from kafkatx.security.sasl.credential import MECHANISMS, parse_credential
from kafkatx.security.sasl.errors import SaslError
from kafkatx.wire.messages.describe_user_scram_credentials import (
    CredentialInfo,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)


def answer(
    broker: Broker, request: DescribeUserScramCredentialsRequest, context: RequestContext
) -> DescribeUserScramCredentialsResponse:
    """Describe the users that are named, or all."""
    stored = broker.metadata.state.scram_credentials
    times = Counter([user.name for user in request.users or ()] or sorted(stored))
    return DescribeUserScramCredentialsResponse(
        results=[_result(user, count, stored.get(user)) for user, count in times.items()]
    )


def _result(user: str, times: int, stored: Mapping[str, str] | None) -> DescribeUserScramCredentialsResult:
    if times > 1:
        why = f"Cannot describe SCRAM credentials for the same user twice in a single request: {user}"
        return DescribeUserScramCredentialsResult(user, ErrorCode.DUPLICATE_RESOURCE, why)
    if stored is None:
        why = f"Attempt to describe a user credential that does not exist: {user}"
        return DescribeUserScramCredentialsResult(user, ErrorCode.RESOURCE_NOT_FOUND, why)
    infos = [
        CredentialInfo(mechanism.number, _iterations(stored[name]))
        for name, mechanism in MECHANISMS.items()
        if name in stored
    ]
    return DescribeUserScramCredentialsResult(user, ErrorCode.NONE, None, infos)


def _iterations(text: str) -> int:
    """Return the iterations of a credential; 0 if it cannot be read: no password fits it."""
    try:
        return parse_credential(text).iterations
    except SaslError:
        return 0


def refuse(
    request: DescribeUserScramCredentialsRequest, context: RequestContext, code: ErrorCode, why: str
) -> DescribeUserScramCredentialsResponse:
    """Refuse the request, without users."""
    return DescribeUserScramCredentialsResponse(error_code=code, error_message=why)


API = Api(DescribeUserScramCredentialsRequest, DescribeUserScramCredentialsResponse, answer, refuse)
