"""The application: it answers here, or sends to the leader once."""

from __future__ import annotations

from twisted.internet.defer import Deferred, succeed

from kafkatx.broker.registry.api.application import is_change
from kafkatx.broker.registry.forwarder import Forwarder
from kafkatx.nodes import Endpoint
from kafkatx.registry.errors import RegistryError, forwarding_failed, unknown_leader
from kafkatx.types import BrokerNode
from kafkatx.web.calls import Answer, Call
from tests.broker.registry.case import A, RegistryCase

V1 = "application/vnd.schemaregistry.v1+json"


class ApplicationTests(RegistryCase):
    def test_about(self) -> None:
        """The root, the types and the metadata need no topic."""
        self.assertEqual(self.ok("GET", "/"), {})
        self.assertEqual(self.ok("GET", "/schemas/types"), ["AVRO", "JSON", "PROTOBUF"])
        cluster = self.ok("GET", "/v1/metadata/id")["scope"]["clusters"]["kafka-cluster"]
        self.assertEqual(cluster, self.broker.metadata.state.cluster_id)
        self.assertIn("version", self.ok("GET", "/v1/metadata/version"))

    def test_types(self) -> None:
        """The answer has the type that the client accepts, errors, too."""
        for accept, expected in (
            ("", V1),
            ("*/*", V1),
            (f"{V1}, application/json", V1),
            ("text/html, application/json;q=0.9", "application/json"),
            ("application/vnd.schemaregistry+json", "application/vnd.schemaregistry+json"),
        ):
            for target in ("/subjects", "/subjects/x/versions", "/nowhere", "/schemas/types"):
                answer = self.successResultOf(self.begin("GET", target, accept=accept))
                self.assertEqual(answer.content_type, expected)

    def test_unknown(self) -> None:
        """Unknown paths are 404, unknown methods 405; parts of Confluent's API that are missing, too."""
        for path in ("/nowhere", "/subjects/a/b", "/associations", "/schemas/ids", "/dek-registry/v1/keks"):
            self.refused(404, "GET", path)
        self.refused(405, "PATCH", "/subjects/s")

    def test_is_change(self) -> None:
        """Look-ups and checks are POST, and change nothing."""
        cases = {("POST", "subjects", "s", "versions"): True, ("POST", "subjects", "s"): False}
        cases |= {("POST", "compatibility", "subjects", "s", "versions"): False, ("PUT", "mode"): True}
        cases |= {("DELETE", "subjects", "s"): True, ("GET", "subjects", "s", "versions"): False}
        for (method, *path), expected in cases.items():
            self.assertEqual(is_change(Call(method, "", tuple(path), {})), expected, path)


class ForwardedTests(RegistryCase):
    def setUp(self) -> None:
        """Make another broker lead the topic, and note what is sent to it."""
        super().setUp()
        self.register("s")
        self.leader: BrokerNode | None = BrokerNode(2, "b2", 9092, http=Endpoint("HTTP", "b2", 8081))
        self.sent: list[tuple[BrokerNode, Call]] = []
        self.outcomes: list[Answer | RegistryError] = []
        self.patch(self.registry.topic, "other_leader", lambda: self.leader)
        self.patch(self.parts.forwarder, "send", self.send)

    def send(self, leader: BrokerNode, call: Call) -> Deferred[Answer]:
        """Note a request, and answer it with the next outcome."""
        self.sent.append((leader, call))
        outcome = self.outcomes.pop(0)
        if isinstance(outcome, RegistryError):
            raise outcome
        return succeed(outcome)

    def test_forwarded(self) -> None:
        """Reads and changes go to the leader as they are; its answer comes back, errors, too."""
        self.outcomes = [Answer(200, b"[1]"), Answer(409, b'{"error_code":409}')]
        self.assertEqual(self.call("GET", "/subjects?deleted=true"), (200, [1]))
        self.assertEqual(self.call("PUT", "/config", {"compatibility": "NONE"})[0], 409)
        self.assertEqual([call.target for _, call in self.sent], ["/subjects?deleted=true", "/config"])

    def test_once(self) -> None:
        """A forwarded request is not forwarded again, and is refused at once: the sender tries again."""
        self.refused(50004, "GET", "/subjects", x_forward="1")
        self.assertEqual(self.sent, [])

    def test_unknown_topic(self) -> None:
        """A broker that has not seen the topic yet refuses a forwarded request, rather than make it up."""
        self.patch(self.registry.topic, "name", "not-seen")
        self.registry.topic._was_seen = False
        for method, target, body in (
            ("GET", "/subjects", None),
            ("POST", "/subjects/s/versions", {"schema": A}),
        ):
            self.refused(50004, method, target, body, x_forward="1")
        self.assertNotIn("not-seen", self.broker.metadata.state.topics)

    def test_again(self) -> None:
        """A request that no leader has got is sent again, and answered here if this broker leads by then."""
        self.outcomes = [unknown_leader(), unknown_leader()]
        waiting = self.begin("POST", "/subjects/s/versions", {"schema": A})
        self.clock.advance(0.1)
        self.assertNoResult(waiting)
        self.leader = None
        self.clock.advance(0.1)
        self.assertEqual(self.answered(self.successResultOf(waiting))[1]["id"], 1)
        self.assertEqual(len(self.sent), 2)

    def test_uncertain(self) -> None:
        """A change that the leader may have made is not sent again."""
        self.outcomes = [forwarding_failed("lost")]
        self.refused(50003, "PUT", "/config", {"compatibility": "NONE"})

    def test_gone(self) -> None:
        """A client that goes while it waits for a leader leaves no timer."""
        self.outcomes = [unknown_leader()]
        waiting = self.begin("GET", "/subjects")
        waiting.cancel()
        self.failureResultOf(waiting)
        self.clock.pump([1] * 20)
        self.assertEqual(len(self.sent), 1)

    def test_unreachable(self) -> None:
        """A leader without an HTTP listener is told."""
        leader = BrokerNode(2, "b2", 9092)
        forwarder = Forwarder(0, self.clock, 1.0)
        failing = Deferred.fromCoroutine(forwarder.send(leader, Call("GET", "/", (), {})))
        failure = self.failureResultOf(failing, RegistryError)
        self.assertIn("http.listeners", failure.getErrorMessage())
