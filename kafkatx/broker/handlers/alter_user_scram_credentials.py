"""AlterUserScramCredentials (key 51), version 0: set and delete SCRAM credentials of users (KIP-554).

The keys are derived from the salted password, which is forgotten then. An error of one of a user's changes
refuses all changes of the user, and no other user's. Error messages are those of Kafka's
``ScramControlManager``.

A salted password may have any length, as with Apache Kafka: the keys are a hash of it.

Deviation from Apache Kafka: a salt that is empty, or longer than 1,000 bytes, is refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from twisted.internet.defer import Deferred

from kafkatx.broker.broker import Broker
from kafkatx.broker.dispatch import Api
from kafkatx.broker.requests.context import RequestContext, error_message
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.security.sasl.credential import (
    BY_NUMBER,
    MAX_ITERATIONS,
    MIN_ITERATIONS,
    ScramCredential,
    ScramMechanism,
)
from kafkatx.wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)

MOST_SALT_BYTES = 1000


def answer(
    broker: Broker, request: AlterUserScramCredentialsRequest, context: RequestContext
) -> Deferred[AlterUserScramCredentialsResponse] | AlterUserScramCredentialsResponse:
    """Check the changes of every user, and make those that are right."""
    stored = broker.metadata.state.scram_credentials
    changes: dict[str, dict[str, str | None]] = {}
    results = []
    for user in dict.fromkeys(_users(request)):
        try:
            changes[user] = _changes(user, request, stored.get(user, {}))
        except RequestError as error:
            results.append(AlterUserScramCredentialsResult(user, error.code, error_message(error)))
        else:
            results.append(AlterUserScramCredentialsResult(user, ErrorCode.NONE, None))
    response = AlterUserScramCredentialsResponse(results=results)
    if not changes:
        return response
    altering: Deferred[None] = broker.metadata.alter_scram_credentials(changes)
    return altering.addCallback(lambda _: response)


def _users(request: AlterUserScramCredentialsRequest) -> list[str]:
    return [one.name for one in request.deletions] + [one.name for one in request.upsertions]


def _changes(
    user: str, request: AlterUserScramCredentialsRequest, stored: Mapping[str, str]
) -> dict[str, str | None]:
    """Return the changes of a user by mechanism.

    :raises RequestError: one of them is wrong.
    """
    if not user:
        raise RequestError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Username must not be empty")
    if user in (".", ".."):
        raise RequestError(ErrorCode.UNACCEPTABLE_CREDENTIAL, f"Username must not be {user}")
    deletions = [one for one in request.deletions if one.name == user]
    upsertions = [one for one in request.upsertions if one.name == user]
    times = Counter([one.mechanism for one in deletions] + [one.mechanism for one in upsertions])
    if max(times.values()) > 1:
        raise RequestError(
            ErrorCode.DUPLICATE_RESOURCE, "A user credential cannot be altered twice in the same request"
        )
    changes: dict[str, str | None] = {}
    for deletion in deletions:
        changes[_deleted(deletion, stored)] = None
    for upsertion in upsertions:
        mechanism = _mechanism(upsertion.mechanism)
        changes[mechanism.name] = str(_credential(mechanism, upsertion))
    return changes


def _mechanism(number: int) -> ScramMechanism:
    try:
        return BY_NUMBER[number]
    except KeyError:
        raise RequestError(ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism") from None


def _deleted(deletion: ScramCredentialDeletion, stored: Mapping[str, str]) -> str:
    name = _mechanism(deletion.mechanism).name
    if name not in stored:
        raise RequestError(
            ErrorCode.RESOURCE_NOT_FOUND, "Attempt to delete a user credential that does not exist"
        )
    return name


def _credential(mechanism: ScramMechanism, upsertion: ScramCredentialUpsertion) -> ScramCredential:
    if upsertion.iterations < MIN_ITERATIONS:
        raise RequestError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too few iterations")
    if upsertion.iterations > MAX_ITERATIONS:
        raise RequestError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too many iterations")
    if not 0 < len(upsertion.salt) <= MOST_SALT_BYTES:
        raise RequestError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "The salt is empty or too long")
    salted = bytes(upsertion.salted_password)
    if not salted:
        raise RequestError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "The salted password is empty")
    return ScramCredential.of_salted(mechanism, salted, bytes(upsertion.salt), upsertion.iterations)


def refuse(
    request: AlterUserScramCredentialsRequest, context: RequestContext, code: ErrorCode, why: str
) -> AlterUserScramCredentialsResponse:
    """Refuse the changes of every user with the same error."""
    return AlterUserScramCredentialsResponse(
        results=[AlterUserScramCredentialsResult(user, code, why) for user in dict.fromkeys(_users(request))]
    )


API = Api(AlterUserScramCredentialsRequest, AlterUserScramCredentialsResponse, answer, refuse)
