"""Access control over HTTP, at the registry: every kind of request with and without its right."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar
from unittest.mock import Mock

from twisted.internet.defer import Deferred, succeed
from twisted.web.http_headers import Headers

from kafkatx.acls import AclBinding
from kafkatx.broker.authorization.http_demands import HTTP_ROWS, About, HttpRow
from kafkatx.broker.registry.forwarder import Forwarder
from kafkatx.config import BrokerConfig
from kafkatx.interfaces import IAuthorizer
from kafkatx.net.requests import Session
from kafkatx.nodes import Endpoint
from kafkatx.security.acl.lines import parse_line
from kafkatx.security.authorizers.by_acls import AclAuthorizer
from kafkatx.security.authorizers.learn import LearningAuthorizer
from kafkatx.types import BrokerNode
from kafkatx.web.calls import OF_BROKER, Answer, Call, read_target
from kafkatx.web.logins import Certificates
from kafkatx.web.site import Site
from tests.broker.registry.case import A, B, C, RegistryCase

ADMIN, ALICE = Session("User:admin", "HTTPS"), Session("User:alice", "HTTPS")
FORBIDDEN = 40301
OPEN_PATHS = {"/health/live", "/health/ready", "/metrics"}
"""The paths of other applications."""


class GuardedCase(RegistryCase):
    """A registry with an authorizer, and schemas of topics ``t`` and ``u``, a record and a context."""

    settings: ClassVar[Mapping[str, str]] = {"super.users": "User:admin"}

    def setUp(self) -> None:
        """Register as a super user; note denials."""
        super().setUp()
        self.denied: list[tuple[Any, ...]] = []
        authorization = self.broker.authorization
        assert authorization is not None
        authorization._denials.listeners.append(lambda *denial: self.denied.append(denial))
        self.session = ADMIN
        self.schema_id = self.register("t-value", A)["id"]
        self.other_id = self.register("u-value", B)["id"]
        self.record_id = self.register("com.acme.R", C)["id"]
        self.register(":.c:t-value", C)
        self.guid = self.ok("GET", f"/schemas/ids/{self.schema_id}")["guid"]
        self.session = ALICE

    def make_authorizer(self, config: BrokerConfig) -> IAuthorizer:
        """Return one that decides by ACLs."""
        return AclAuthorizer(config)

    def grant(self, *lines: str) -> None:
        """Replace the ACLs by these, in the form of the command line."""
        acls = self.broker.metadata.state.acls
        old = {AclBinding(pattern, entry) for pattern, entries in acls.items() for entry in entries}
        changing = self.broker.metadata.alter_acls(frozenset(map(parse_line, lines)), frozenset(old))
        self.successResultOf(changing)

    def cases(self, *kinds: About) -> Iterator[tuple[HttpRow, str]]:
        """Yield rows, each with its targets for topic ``t``."""
        names = {"{subject}": "t-value", "{version}": "1", "{id}": str(self.schema_id), "{guid}": self.guid}
        for row in HTTP_ROWS:
            for pattern in row.patterns:
                if row.about in kinds and pattern not in OPEN_PATHS:
                    for placeholder, name in names.items():
                        pattern = pattern.replace(placeholder, name)
                    yield row, pattern

    def code(self, method: str, target: str) -> int:
        """Ask without changing anything; return the code of the error, or 200."""
        status, body = self.call(method, target)
        return int(body["error_code"]) if status >= 400 else status

    def allowed(self, row: HttpRow, target: str) -> None:
        """Check that a request is not denied: it may fail for its lack of a body."""
        self.assertNotEqual(self.code(row.method, target), FORBIDDEN, (row.method, target))


class HttpGuardTests(GuardedCase):
    def test_nothing(self) -> None:
        """Without rights only what needs none is answered; a message says who may not do what."""
        for row, target in self.cases(About.NOTHING):
            self.assertEqual(self.code(row.method, target), 200)
        for row, target in self.cases(About.CLUSTER, About.SUBJECT, About.SCHEMA):
            self.refused(FORBIDDEN, row.method, target, {})
        self.assertEqual(self.ok("GET", "/subjects"), [])
        self.assertEqual(self.ok("GET", "/schemas"), [])
        message = self.refused(FORBIDDEN, "POST", "/subjects/t-value/versions", {"schema": A})
        self.assertEqual(message, "User:alice may not write topic 't'")
        message = self.refused(FORBIDDEN, "PUT", "/config/com.acme.R", {"compatibility": "NONE"})
        self.assertEqual(message, "User:alice may not alter the cluster")

    def test_topic(self) -> None:
        """The right on the topic is enough for its subject, and for no other."""
        for row, target in list(self.cases(About.SUBJECT)):
            operation = row.operation.name.lower()
            self.grant(f"User:alice {operation} topic:u")
            self.assertEqual(self.code(row.method, target), FORBIDDEN)
            others = [one for one in ("read", "write", "delete", "alter") if one != operation]
            self.grant(*(f"User:alice {one} topic:t" for one in others if operation != "describe"))
            self.assertEqual(self.code(row.method, target), FORBIDDEN)
            self.grant(f"User:alice {operation} topic:t")
            for other in ("com.acme.R", "u-value", ":.c:t-value"):
                self.assertEqual(self.code(row.method, target.replace("t-value", other)), FORBIDDEN)
            self.allowed(row, target)
            self.allowed(row, target.replace("t-value", "t-key"))
            self.allowed(row, target.replace("t-value", ":.:t-value"))

    def test_cluster(self) -> None:
        """The right on the cluster is enough: Describe for reads, Alter for changes, of all subjects."""
        for row, target in list(self.cases(About.SUBJECT, About.CLUSTER)):
            operation = row.of_cluster.name.lower()
            self.grant("User:alice describe cluster" if operation == "alter" else "User:alice create cluster")
            self.assertEqual(self.code(row.method, target), FORBIDDEN)
            self.grant(f"User:alice {operation} cluster")
            self.allowed(row, target)
            self.allowed(row, target.replace("t-value", "com.acme.R"))

    def test_deny(self) -> None:
        """A client whose address is denied, is denied."""
        self.grant("User:alice read topic:t", "deny User:alice from 192.0.2.9 all topic:t")
        self.assertEqual(self.code("GET", "/subjects/t-value/versions"), 200)
        self.client = "::ffff:192.0.2.9"
        self.assertEqual(self.code("GET", "/subjects/t-value/versions"), FORBIDDEN)

    def test_unknown_subject(self) -> None:
        """A subject that is not there looks the same as one that may not be described."""
        for name in ("t-value", "nowhere-value"):
            self.assertEqual(self.code("GET", f"/subjects/{name}/versions"), FORBIDDEN)
        self.assertEqual(self.code("GET", "/subjects/%01/versions"), 42208)

    def test_lists(self) -> None:
        """Lists have the subjects whose topics the client may describe, or all with the cluster's right."""
        for acl, subjects in (
            ("User:alice read topic:u", ["u-value"]),
            ("User:alice describe topic:*", ["t-value", "u-value"]),
            ("User:alice describe cluster", [":.c:t-value", "com.acme.R", "t-value", "u-value"]),
        ):
            self.grant(acl)
            self.assertEqual(self.ok("GET", "/subjects"), subjects)
            self.assertEqual([one["subject"] for one in self.ok("GET", "/schemas")], subjects)
        self.grant("User:alice describe topic:*")
        self.assertEqual(self.ok("GET", "/subjects?offset=1&limit=1"), ["u-value"])
        self.assertEqual(self.denied, [])

    def test_ids(self) -> None:
        """A schema is answered to who may describe a topic that has it; its other subjects are left out."""
        self.session = ADMIN
        self.register("u-key", A)
        self.session = ALICE
        targets = [target for _, target in self.cases(About.SCHEMA)]
        for acl in ("User:alice write topic:u", "User:alice describe topic:t", "User:alice describe cluster"):
            self.grant(acl)
            self.assertEqual([self.code("GET", target) for target in targets], [200] * 6)
        self.grant("User:alice describe topic:u")
        self.assertEqual(self.ok("GET", f"/schemas/ids/{self.schema_id}/subjects"), ["u-key"])
        self.assertEqual(
            self.ok("GET", f"/schemas/ids/{self.schema_id}/versions"), [{"subject": "u-key", "version": 1}]
        )
        self.grant("User:alice all topic:v", "User:alice create cluster")
        for target in targets:
            message = self.refused(FORBIDDEN, "GET", target)
            self.assertNotIn("'", message)
        self.grant("User:alice all topic:*")
        self.assertEqual(self.code("GET", f"/schemas/ids/{self.record_id}"), FORBIDDEN)
        self.assertEqual(self.code("GET", "/schemas/ids/99"), 40403)

    def test_ids_deleted(self) -> None:
        """A schema whose versions are deleted is still read by who could read it, for the old records."""
        self.grant("User:alice read topic:t", "User:alice delete topic:t")
        self.ok("DELETE", "/subjects/t-value")
        self.assertEqual(self.code("GET", f"/schemas/ids/{self.schema_id}"), 200)
        self.assertEqual(self.code("GET", f"/schemas/guids/{self.guid}"), 200)

    def test_log(self) -> None:
        """A denial is logged once, as the right that is missing, with the client's address."""
        self.code("GET", "/subjects/t-value/versions")
        self.code("GET", "/config")
        self.clock.advance(60)
        self.code("GET", f"/schemas/ids/{self.schema_id}")
        self.code("PUT", "/mode/com.acme.R")
        self.assertEqual(
            [(principal, host, operation.name, name) for principal, host, operation, _, name in self.denied],
            [
                ("User:alice", "192.0.2.7", "DESCRIBE", "t"),
                ("User:alice", "192.0.2.7", "DESCRIBE", "kafka-cluster"),
                ("User:alice", "192.0.2.7", "DESCRIBE", "kafka-cluster"),
                ("User:alice", "192.0.2.7", "ALTER", "kafka-cluster"),
            ],
        )

    def test_super_user(self) -> None:
        """A super user may do everything."""
        self.session = ADMIN
        for row, target in list(self.cases(*About)):
            self.allowed(row, target)

    def test_own_requests(self) -> None:
        """A request of the broker itself needs no right; a client cannot make its own look like that."""
        self.session = OF_BROKER
        self.assertEqual(self.code("GET", "/subjects/t-value/versions"), 200)
        self.assertEqual(len(self.ok("GET", "/subjects")), 4)
        self.assertEqual(self.code("GET", f"/schemas/ids/{self.schema_id}"), 200)
        self.session = Session("", "")
        self.assertEqual(self.code("GET", "/subjects/t-value/versions"), FORBIDDEN)
        self.assertEqual(self.ok("GET", "/subjects"), [])
        self.assertEqual(self.code("GET", f"/schemas/ids/{self.schema_id}"), FORBIDDEN)

    def test_checks_of_records(self) -> None:
        """Records are checked by their schemas whatever their producer may do at the registry."""
        checks = self.parts.checks
        name = b"\0" + self.schema_id.to_bytes(4, "big")
        belongs = Deferred.fromCoroutine(checks._belongs("t-value", name))
        self.assertTrue(self.successResultOf(belongs))

    def test_forwarded(self) -> None:
        """A broker sends on only what the client may ask for by name."""
        sent: list[Call] = []

        def send(leader: BrokerNode, call: Call) -> Deferred[Answer]:
            sent.append(call)
            return succeed(Answer(200, b"[]"))

        leader = BrokerNode(2, "b2", 9092, http=Endpoint("HTTP", "b2", 8081))
        self.patch(self.registry.topic, "other_leader", lambda: leader)
        self.patch(self.parts.forwarder, "send", send)
        self.refused(FORBIDDEN, "GET", "/subjects/t-value/versions")
        self.refused(FORBIDDEN, "PUT", "/config", {"compatibility": "NONE"})
        self.assertEqual(sent, [])
        self.ok("GET", "/subjects")
        self.grant("User:alice read topic:t")
        self.ok("GET", "/subjects/t-value/versions")
        self.assertEqual(len(sent), 2)


class ForwardedTests(GuardedCase):
    settings: ClassVar[Mapping[str, str]] = {"super.users": "User:admin;User:CN=broker"}

    def forward(self, session: Session, target: str, **sent: str) -> tuple[int, Any]:
        """Ask this leader through another broker, a super user whose clients show certificates."""
        asked: list[Headers] = []

        def request(method: bytes, url: bytes, headers: Headers, body: Any) -> Deferred[Any]:
            asked.append(headers)
            return Deferred()

        forwarder = Forwarder(2, self.clock, 10.0)
        self.patch(forwarder, "_agent", Mock(request=request))
        leader = BrokerNode(0, "b", 9092, http=Endpoint("HTTP", "b", 8081))
        path, query = read_target(target.encode())
        first = Call("GET", target, path, query, sent, session=session)
        Deferred.fromCoroutine(forwarder.send(leader, first))
        headers = {name.decode().lower(): value[0].decode() for name, value in asked[0].getAllRawHeaders()}
        site = Site(None, Certificates(lambda: ["User:CN=broker"]))
        site.mount(path[:1], lambda: self.parts.application)
        call = Call("GET", target, path, query, headers, session=Session("User:CN=broker", "HTTPS"))
        return self.answered(self.successResultOf(Deferred.fromCoroutine(site.answer(call))))

    def test_forwarded(self) -> None:
        """A client has its own rights at the leader, not those of the broker that sends its request on."""
        self.grant("User:alice read topic:t")
        target = f"/schemas/ids/{self.other_id}"
        for session in (ALICE, Session(), Session("")):
            self.assertEqual(self.forward(session, target)[0], 403)
            self.assertEqual(self.forward(session, target, authorization="Basic x")[0], 403)
        self.assertEqual(self.forward(ALICE, "/subjects"), (200, ["t-value"]))
        self.assertEqual(self.forward(Session(), "/subjects"), (200, []))
        self.assertEqual(self.forward(ADMIN, target)[0], 200)
        self.assertEqual(self.forward(OF_BROKER, target)[0], 200)


class LearningTests(RegistryCase):
    def make_authorizer(self, config: BrokerConfig) -> IAuthorizer:
        """Return one that allows everything, and notes it."""
        self.learning = LearningAuthorizer(config)
        return self.learning

    def test_learned(self) -> None:
        """The narrowest right for a request is learned, and nothing from lists, which have everything."""
        self.session = ALICE
        schema_id = self.register("t-value", A)["id"]
        self.assertEqual(self.ok("GET", "/subjects"), ["t-value"])
        self.assertEqual(self.learned(), [("WRITE", "t")])
        self.session = Session("User:bob")
        self.ok("GET", f"/schemas/ids/{schema_id}")
        self.assertEqual(self.learned(), [("DESCRIBE", "t"), ("WRITE", "t")])
        self.ok("GET", "/config")
        self.assertEqual(self.learned(), [("DESCRIBE", "kafka-cluster"), ("DESCRIBE", "t"), ("WRITE", "t")])

    def learned(self) -> list[tuple[str, str]]:
        """Return operations and names of resources."""
        return sorted((entry.operation.name, pattern.name) for pattern, entry in self.learning.learned)


class FirstRequestTests(RegistryCase):
    def make_authorizer(self, config: BrokerConfig) -> IAuthorizer:
        """Return one that decides by ACLs."""
        return AclAuthorizer(config)

    def test_no_topic(self) -> None:
        """A registration that is denied does not create the topic."""
        self.refused(FORBIDDEN, "POST", "/subjects/t-value/versions", {"schema": A})
        self.assertFalse(self.registry.topic.exists)


class UnguardedTests(RegistryCase):
    def test_no_authorizer(self) -> None:
        """Without an authorizer everything is allowed."""
        self.session = ALICE
        self.register("t-value", A)
        self.assertEqual(self.ok("GET", "/subjects"), ["t-value"])
        self.assertEqual(self.ok("GET", "/config"), {"compatibilityLevel": "BACKWARD"})
