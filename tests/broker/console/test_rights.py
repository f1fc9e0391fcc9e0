"""Rights: a case for each change of the API, which is refused without the right, and made with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import attrs

from kafkatx.acls import AclOperation, ResourceType
from kafkatx.broker.console.api.cluster import mirrors
from kafkatx.broker.registry.inspector import Inspector
from kafkatx.clientcore.admin.mirror_status import LinkStatus, MirrorReport
from kafkatx.net.requests import Session
from tests.broker.authorization.authorized import ADMIN, GROUP, TOPIC, TRANSACTION
from tests.broker.console.api.security.test_acls import ACL
from tests.broker.console.api.test_schemas import inspect_here
from tests.broker.console.authorized import AuthorizedConsoleCase
from tests.broker.console.case import ConsoleCase
from tests.broker.registry.case import A

_O, _R = AclOperation, ResourceType
Right = tuple[AclOperation, ResourceType, str]


@attrs.frozen
class Case:
    """A change, and the rights that it needs.

    :ivar pattern: of its route.
    :ivar path: with the query.
    """

    method: str
    pattern: str
    path: str
    body: Any
    rights: Sequence[Right]


ON_TOPIC, ON_GROUP = (_R.TOPIC, TOPIC), (_R.GROUP, GROUP)
ON_CLUSTER = (_R.CLUSTER, "kafka-cluster")
BODY_OF_TRANSACTION = {"transactionalId": TRANSACTION}

CASES = (
    Case("POST", "/topics", "/topics", {"name": "new"}, [(_O.CREATE, _R.TOPIC, "new")]),
    Case(
        "PATCH",
        "/topics/{name}/configs",
        f"/topics/{TOPIC}/configs",
        {"set": {"retention.ms": "5"}},
        [(_O.ALTER_CONFIGS, *ON_TOPIC)],
    ),
    Case(
        "POST",
        "/topics/{name}/partitions",
        f"/topics/{TOPIC}/partitions",
        {"count": 5},
        [(_O.ALTER, *ON_TOPIC)],
    ),
    Case(
        "POST",
        "/topics/{name}/purge",
        f"/topics/{TOPIC}/purge",
        {"beforeOffsets": {"0": -1}},
        [(_O.DELETE, *ON_TOPIC)],
    ),
    Case("DELETE", "/topics/{name}", f"/topics/{TOPIC}?confirm={TOPIC}", None, [(_O.DELETE, *ON_TOPIC)]),
    Case(
        "POST",
        "/groups/{id}/reset",
        f"/groups/{GROUP}/reset",
        {"to": "earliest", "scope": [{"topic": TOPIC}]},
        [(_O.READ, *ON_GROUP), (_O.READ, *ON_TOPIC)],
    ),
    Case("DELETE", "/groups/{id}", f"/groups/{GROUP}?confirm={GROUP}", None, [(_O.DELETE, *ON_GROUP)]),
    Case(
        "PATCH",
        "/configs/brokers/{id}",
        "/configs/brokers/0",
        {"set": {"max.connections": "5"}},
        [(_O.ALTER_CONFIGS, *ON_CLUSTER)],
    ),
    Case(
        "POST",
        "/schemas/{subject}/versions",
        f"/schemas/{TOPIC}-value/versions",
        {"schema": A},
        [(_O.WRITE, *ON_TOPIC)],
    ),
    Case(
        "PUT",
        "/schemas/{subject}/compatibility",
        f"/schemas/{TOPIC}-value/compatibility",
        {"level": "NONE"},
        [(_O.ALTER, *ON_TOPIC)],
    ),
    Case(
        "POST",
        "/transactions/abort",
        "/transactions/abort",
        BODY_OF_TRANSACTION,
        [(_O.WRITE, _R.TRANSACTIONAL_ID, TRANSACTION)],
    ),
    Case("POST", "/acls", "/acls", ACL, [(_O.ALTER, *ON_CLUSTER)]),
    Case("DELETE", "/acls", "/acls", ACL, [(_O.ALTER, *ON_CLUSTER)]),
    Case("PUT", "/users/{name}", "/users/ann", {"password": "x"}, [(_O.ALTER, *ON_CLUSTER)]),
    Case(
        "DELETE",
        "/users/{name}",
        "/users/ann?mechanism=SCRAM-SHA-512",
        None,
        [(_O.ALTER, *ON_CLUSTER)],
    ),
    Case(
        "PUT",
        "/quotas",
        "/quotas",
        {"entity": {"user": "ann"}, "set": {"producer_byte_rate": 5}},
        [(_O.ALTER_CONFIGS, *ON_CLUSTER)],
    ),
    Case(
        "POST",
        "/mirrors/{link}/promote",
        "/mirrors/dc1/promote",
        {"confirm": "dc1"},
        [(_O.ALTER_CONFIGS, *ON_CLUSTER), (_O.DESCRIBE, *ON_CLUSTER)],
    ),
    Case("POST", "/messages", "/messages", {"topic": TOPIC, "value": "x"}, [(_O.WRITE, *ON_TOPIC)]),
)


class RightsTests(AuthorizedConsoleCase):
    def setUp(self) -> None:
        """Inspect schemas in this process, and have a link."""
        super().setUp()
        self.patch(Inspector, "inspect", inspect_here)
        real = mirrors._of_broker

        async def of_broker(*arguments: Any) -> MirrorReport:
            await real(*arguments)
            return MirrorReport((LinkStatus("dc1", "other:9092"),))

        self.patch(mirrors, "_of_broker", of_broker)

    def state(self) -> object:
        """Return what changes of the state can be seen in."""
        state, partitions = self.broker.metadata.state, self.broker.topics.of(TOPIC)
        groups = self.broker.groups
        return (
            {
                name: topic
                for name, topic in state.topics.items()
                if not topic.internal and name != "_schemas"
            },
            (state.broker_configs, state.client_quotas, state.scram_credentials),
            [partition.log.log_start_offset for partition in partitions],
            [partition.last_stable_offset for partition in partitions],
            groups.offsets_of(GROUP).of(GROUP).get(TOPIC, {}).get(0),
        )

    def test_complete(self) -> None:
        """Each change of the API has a case."""
        changing = {(route.method, route.pattern) for route in self.application.routes if route.changes}
        self.assertEqual({(case.method, case.pattern) for case in CASES}, changing)
        self.assertEqual(
            {
                (route.method, route.pattern)
                for route in self.application.routes
                if route.method != "GET" and not route.changes
            },
            {("POST", "/session"), ("DELETE", "/session"), ("POST", "/schemas/{subject}/check")},
        )

    def test_rights(self) -> None:
        """A change without one of its rights is refused, and changes nothing; with all of them it is not."""
        for case in CASES:
            before = self.state()
            for missing in range(len(case.rights)):
                self.revoke_all()
                for right in case.rights[:missing] + case.rights[missing + 1 :]:  # type: ignore[operator]
                    self.grant(*right)
                found = self.change(case.method, case.path, case.body, 403)
                self.assertIn(self.refused(found), REFUSALS, case)
                self.assertEqual(self.state(), before, case)
            self.revoke_all()
            for right in case.rights:
                self.grant(*right)
            answer = self.request(case.method, f"/console/api/v1{case.path}", case.body)
            self.assertNotIn(answer.status, (401, 403), (case, answer.body))
            if answer.status == 200:
                self.setUp()
        audit = self.get("/actions", session=Session(ADMIN))
        self.assertNotIn("secret", str(audit))


REFUSALS = {
    "TOPIC_AUTHORIZATION_FAILED",
    "GROUP_AUTHORIZATION_FAILED",
    "CLUSTER_AUTHORIZATION_FAILED",
    "TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
    "SCHEMA_REGISTRY_40301",
    "FORBIDDEN",
}


class ReadOnlyTests(ConsoleCase):
    settings: ClassVar[dict[str, str]] = {
        "kafkatx.console.enable": "true",
        "kafkatx.console.read.only": "true",
    }

    def test_refused(self) -> None:
        """A read-only console refuses each change; checks and previews are none."""
        self.make_topic(TOPIC)
        for case in CASES:
            found = self.change(case.method, case.path, case.body, 403)
            self.assertEqual(self.refused(found), "READ_ONLY", case)
        self.assertEqual(list(self.broker.metadata.state.topics), [TOPIC])
        self.change("POST", "/topics", {"name": "new", "validateOnly": True})
        self.assertEqual(
            self.refused(self.change("POST", "/groups/g/reset", {"to": "latest", "preview": True}, 404)),
            "GROUP_ID_NOT_FOUND",
        )
        self.assertEqual(self.get("/actions")["total"], 0)
