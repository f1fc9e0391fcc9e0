"""Access control at the HTTP listener: it asks the authorizer for what :mod:`http_demands` has.

A broker that forwards a request asks for what its path names, with the address of the client; the broker that
answers asks for everything, and for a forwarded request it only knows the address of the other broker.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kafkatx.acls import AclOperation, ResourceType, enum_text
from kafkatx.broker.authorization.authorization import Authorization
from kafkatx.broker.authorization.http_demands import About, HttpRow, find_row
from kafkatx.net.requests import Peer
from kafkatx.registry.subjects import normalized, topic_of
from kafkatx.web.calls import OF_BROKER, Call, WebError

FORBIDDEN = 40301
"""The ``error_code`` of a request that is denied, as of Confluent's registry."""

_CLUSTER, _TOPIC = ResourceType.CLUSTER, ResourceType.TOPIC


class HttpGuard:
    """Asks for requests of HTTP.

    :param authorization: None: everything is allowed.
    """

    def __init__(self, authorization: Authorization | None) -> None:
        self._authorization = authorization

    def check(self, call: Call) -> None:
        """Ask for what the path names.

        :raises WebError: 403: the client may not do it.
        :raises RegistryError: the name of the subject is impossible.
        """
        found = self._row(call)
        if found is None:
            return
        row, name = found
        if row.about is About.CLUSTER:
            self._require(call, row, "")
        elif row.about is About.SUBJECT:
            self._require(call, row, topic_of(normalized(name)) if name else "")

    def check_schema(self, call: Call, subjects: Callable[[], Iterable[str]]) -> None:
        """Ask for a schema by its id or guid.

        :param subjects: returns those that have it.
        :raises WebError: 403: the client may describe the topic of none of them. It does not name them.
        """
        authorization = self._authorization
        if authorization is None or call.session is OF_BROKER:
            return
        peer, describe = _peer(call), AclOperation.DESCRIBE
        topics = sorted(set(map(topic_of, subjects())) - {""})
        if not (
            any(authorization.allows(peer, describe, _TOPIC, topic, quiet=True) for topic in topics)
            or authorization.allows(peer, describe, _CLUSTER)
        ):
            raise _denied(call, describe, "the cluster, nor a topic that has this schema")

    def viewer(self, call: Call) -> Callable[[str], bool]:
        """Return a function that tells if a reply may tell the client of a subject."""
        authorization = self._authorization
        if authorization is None or call.session is OF_BROKER:
            return lambda subject: True
        peer = _peer(call)
        if authorization.sees(peer, AclOperation.DESCRIBE, _CLUSTER):
            return lambda subject: True

        def may_see(subject: str) -> bool:
            topic = topic_of(subject)
            return bool(topic) and authorization.sees(peer, AclOperation.DESCRIBE, _TOPIC, topic)

        return may_see

    def _row(self, call: Call) -> tuple[HttpRow, str] | None:
        if self._authorization is None or call.session is OF_BROKER:
            return None
        return find_row(call.method, call.path)

    def _require(self, call: Call, row: HttpRow, topic: str) -> None:
        """Ask for an operation on a topic or on the cluster.

        :param topic: empty for a request that is about none.
        """
        authorization, peer = self._authorization, _peer(call)
        assert authorization is not None
        if topic and authorization.allows(peer, row.operation, _TOPIC, topic, quiet=True):
            return
        if authorization.allows(peer, row.of_cluster, _CLUSTER, quiet=bool(topic)):
            return
        if not topic:
            raise _denied(call, row.of_cluster, "the cluster")
        authorization.allows(peer, row.operation, _TOPIC, topic)  # for the log
        raise _denied(call, row.operation, f"topic {topic!r}")


def _peer(call: Call) -> Peer:
    return Peer(call.client, 0, "", 0, call.session)


def _denied(call: Call, operation: AclOperation, resource: str) -> WebError:
    message = f"{call.session.principal} may not {enum_text(operation)} {resource}"
    return WebError(403, message, FORBIDDEN)
