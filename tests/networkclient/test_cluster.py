"""Tests of kafkatx.networkclient.cluster."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import CancelledError, Deferred
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.errors import ClientClosed, ConnectionFailed, NotStarted, RequestTimedOut
from kafkatx.errors import ErrorCode, RequestError, SettingError
from kafkatx.networkclient.cluster import Cluster
from kafkatx.wire.messages.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from kafkatx.wire.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from kafkatx.wire.messages.metadata import MetadataRequest, MetadataResponse
from tests.client.fakes import Network
from tests.networkclient.case import NEWEST, ClusterTestCase


class StartTests(ClusterTestCase):
    def test_start(self) -> None:
        """The first request returns the brokers, and asks for no topics."""
        self.assertEqual(sorted(self.cluster.metadata.brokers), [1, 2, 3])
        self.assertEqual(self.metadata_requests(), [[]])
        self.assertIs(self.network.result(self.cluster.start()), self.cluster)
        self.assertEqual(len(self.metadata_requests()), 1)

    def test_next_server(self) -> None:
        """Each bootstrap server is tried in turn."""
        self.network.down.add(2)
        other = self.network.started(bootstrap_servers="broker2:9092,broker3:9092")
        self.assertEqual(self.network.dialled[-2:], [("broker2", 9092), ("broker3", 9092)])
        self.network.result(other.close())

    def test_nobody(self) -> None:
        """A start without an answer fails with the servers' names, and a later start may succeed."""
        self.network.down.update({2, 3})
        other = self.network.cluster(bootstrap_servers="broker2:9092,broker3:9093")
        error = self.assertRaises(ConnectionFailed, self.network.result, other.start())
        self.assertIn("broker2:9092, broker3:9093", str(error))
        self.network.down.clear()
        self.network.result(other.start(), 1)
        self.network.result(other.close())

    def test_no_servers(self) -> None:
        """A cluster without bootstrap servers cannot be made."""
        for servers in (None, "", "a:b"):
            self.assertRaises(SettingError, self.network.cluster, bootstrap_servers=servers)

    def test_ignorant_broker(self) -> None:
        """A response without brokers is rejected."""
        self.network.answers[MetadataRequest] = lambda *_: MetadataResponse()
        other = self.network.cluster()
        self.assertRaises(ConnectionFailed, self.network.result, other.start())
        self.network.result(other.close())

    def test_oldest_brokers(self) -> None:
        """A broker of Kafka 0.8 is asked in version 0, where no topics means all of them."""
        self.network.newest_api_versions = -1
        other = self.network.cluster()
        other.track_all(60)
        self.network.result(other.start())
        self.assertEqual(self.metadata_requests()[-1], [])
        self.network.result(other.close())


class RequestTests(ClusterTestCase):
    def test_one_broker(self) -> None:
        """A request goes to the broker that it names, over the existing connection."""
        for number in (1, 2, 1):
            reply = self.network.result(self.cluster.request(number, ListGroupsRequest()))
            self.assertEqual(reply.throttle_time_ms, number)
        self.assertEqual(len(self.network.links), 2)

    def test_lanes(self) -> None:
        """Each lane has a connection of its own, so that one does not delay another."""
        held: Deferred[Any] = Deferred()
        self.network.answers[ListGroupsRequest] = lambda *_: held
        waiting = self.cluster.request(1, ListGroupsRequest(), lane="group")
        behind = self.cluster.request(1, FindCoordinatorRequest(coordinator_keys=["g"]), lane="group")
        beside = self.cluster.request(1, FindCoordinatorRequest(coordinator_keys=["g"]))
        self.network.pump()
        self.successResultOf(beside)
        self.assertNoResult(behind)
        held.callback(ListGroupsResponse())
        self.network.pump()
        self.successResultOf(waiting)
        self.successResultOf(behind)

    def test_unknown_broker(self) -> None:
        """A broker that is not in the metadata fails at once, and metadata is refreshed."""
        self.failureResultOf(self.cluster.request(9, ListGroupsRequest()), ConnectionFailed)
        self.failureResultOf(self.cluster.version_for(9, ListGroupsRequest), ConnectionFailed)
        self.network.pump(0.2)
        self.assertEqual(len(self.metadata_requests()), 2)

    def test_lost_broker(self) -> None:
        """A broker that dies fails its requests, and metadata is requested from another."""
        self.network.result(self.cluster.request(1, ListGroupsRequest()))
        waiting = self.cluster.request(1, ListGroupsRequest())
        self.network.kill(1)
        self.failureResultOf(waiting, ConnectionFailed)
        self.network.run(0.5)
        self.assertEqual(len(self.metadata_requests()), 2)
        self.assertNotEqual(self.network.requests[-1][0], 1)

    def test_any(self) -> None:
        """A request to any broker goes to one that answers."""
        self.network.kill(1)
        self.network.down.add(2)
        for _ in range(5):
            reply = self.network.result(self.cluster.request_any(ListGroupsRequest()), 1)
            self.assertEqual(reply.throttle_time_ms, 3)

    def test_any_but_none(self) -> None:
        """The error of a request to any broker names the bootstrap servers and the last reason."""
        for number in (1, 2, 3):
            self.network.kill(number)
        error = self.assertRaises(
            ConnectionFailed, self.network.result, self.cluster.request_any(ListGroupsRequest()), 10
        )
        self.assertIn("broker1:9092", str(error))

    def test_any_refused(self) -> None:
        """A final error of one broker is raised without a request to another."""
        self.network.newest[ListGroupsRequest] = -1
        other = self.network.started()
        error = self.failureResultOf(other.request_any(ListGroupsRequest()), RequestError).value
        self.assertIs(error.code, ErrorCode.UNSUPPORTED_VERSION)
        self.network.result(other.close())

    def test_controller(self) -> None:
        """The controller is asked, and any broker if it is unknown."""
        reply = self.network.result(self.cluster.request_controller(ListGroupsRequest()))
        self.assertEqual(reply.throttle_time_ms, 1)
        other = self.network.cluster()
        starting = other.start()
        self.assertEqual(
            self.network.result(other.request_controller(ListGroupsRequest())).throttle_time_ms, 1
        )
        self.network.result(starting)
        self.network.result(other.close())

    def test_not_started(self) -> None:
        """Every call before start() fails at once, and says what to do."""
        other = self.network.cluster()
        for asked in (
            other.request(1, ListGroupsRequest()),
            other.request_any(ListGroupsRequest()),
            other.request_controller(ListGroupsRequest()),
            other.version_for(1, ListGroupsRequest),
            Deferred.fromCoroutine(other.topic("t")),
            Deferred.fromCoroutine(other.describe(None)),
            Deferred.fromCoroutine(other.coordinator("g")),
        ):
            self.assertIn("call its start() first", str(self.failureResultOf(asked, NotStarted).value))
        self.network.result(other.close())

    def test_versions(self) -> None:
        """A caller may look up a version, and set one."""
        self.assertEqual(self.network.result(self.cluster.version_for(2, FindCoordinatorRequest)), NEWEST)
        self.assertEqual(self.network.result(self.cluster.version_for(2, FindCoordinatorRequest, 3)), 3)
        versions: list[int] = []

        def note(node: int, request: Any, version: int) -> FindCoordinatorResponse:
            versions.append(version)
            return FindCoordinatorResponse()

        self.network.answers[FindCoordinatorRequest] = note
        choices: list[dict[str, Any]] = [{"version": 1}, {"at_most": 2}, {}]
        for options in choices:
            self.network.result(self.cluster.request(2, FindCoordinatorRequest(), **options))
        self.assertEqual(versions, [1, 2, NEWEST])

    def test_closed(self) -> None:
        """Pending and later calls fail with ClientClosed after a close."""
        self.network.hanging.add(2)
        connecting = self.cluster.request(2, ListGroupsRequest())
        asked = self.cluster.request(1, ListGroupsRequest())
        looking = Deferred.fromCoroutine(self.cluster.topic("other"))
        finding = Deferred.fromCoroutine(self.cluster.coordinator("g"))
        refreshed = self.cluster.refreshed()
        closed = [self.cluster.close(), self.cluster.close()]
        self.network.pump()
        for one in closed:
            self.successResultOf(one)
        after = [
            self.cluster.request(1, ListGroupsRequest()),
            self.cluster.request_any(ListGroupsRequest()),
            self.cluster.version_for(1, ListGroupsRequest),
            self.cluster.refreshed(),
            Deferred.fromCoroutine(self.cluster.topic("t")),
            Deferred.fromCoroutine(self.cluster.coordinator("g")),
        ]
        for one in (connecting, asked, looking, finding, refreshed, *after):
            self.failureResultOf(one, ClientClosed)

    def test_closed_in_a_pause(self) -> None:
        """Calls that wait for their next attempt are ended by a close."""
        self.brokers.auto_create = False
        self.coordinators = [ErrorCode.COORDINATOR_NOT_AVAILABLE] * 9
        looking = Deferred.fromCoroutine(self.cluster.topic("other"))
        finding = Deferred.fromCoroutine(self.cluster.coordinator("g"))
        self.network.pump()
        closed = self.cluster.close()
        self.failureResultOf(looking, ClientClosed)
        self.failureResultOf(finding, ClientClosed)
        self.network.pump()
        self.successResultOf(closed)
        self.assertEqual(self.network.clock.getDelayedCalls(), [])


class SettingsTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a broker."""
        self.network = Network()
        self.network.answers[ListGroupsRequest] = lambda *_: ListGroupsResponse()

    def ask(self, **settings: Any) -> Deferred[Any]:
        """Send a request with a cluster of these settings."""
        self.cluster = self.network.started(**settings)
        return self.cluster.request_any(ListGroupsRequest())

    def test_client_id(self) -> None:
        """The client id is sent to brokers."""
        for given, told in ((None, "kafkatx"), ("mine", "mine")):
            self.network.result(self.ask(client_id=given))
            self.assertEqual(self.network.links[-1].client_id, told)

    def test_request_timeout(self) -> None:
        """A request fails after request.timeout.ms without a response."""
        self.network.answers[ListGroupsRequest] = lambda *_: Deferred()
        waiting = self.ask(request_timeout_ms=2000)
        self.network.pump(1.9)
        self.assertNoResult(waiting)
        self.network.pump(0.2)
        self.failureResultOf(waiting, ConnectionFailed)

    def test_connection_setup_timeout(self) -> None:
        """A connection attempt fails after socket.connection.setup.timeout.ms."""
        self.network.hanging.add(1)
        waiting = self.network.cluster(socket_connection_setup_timeout_ms=2000).start()
        self.network.pump(1.9)
        self.assertNoResult(waiting)
        self.network.pump(0.2)
        self.failureResultOf(waiting, ConnectionFailed)

    def test_idle(self) -> None:
        """An idle connection is closed, unless settings disable that."""
        for idle_ms, links in ((5000, 0), (-1, 1)):
            self.network.result(self.ask(connections_max_idle_ms=idle_ms))
            self.network.run(10, step=1)
            self.assertEqual(len(self.network.live()), links)

    def test_metadata_age(self) -> None:
        """Metadata is refreshed after metadata.max.age.ms."""
        self.network.result(self.ask(metadata_max_age_ms=7000))
        self.network.run(8, step=1)
        self.assertEqual(len(self.network.sent(MetadataRequest)), 2)

    def test_metadata_idle(self) -> None:
        """A topic that is unused for metadata.max.idle.ms is dropped from metadata."""
        self.network.result(self.ask(metadata_max_idle_ms=7000))
        self.network.result(Deferred.fromCoroutine(self.cluster.topic("t")))
        for seconds, topics in ((1, 1), (6, 1), (2, 0)):
            self.network.pump(seconds)
            self.network.result(self.cluster.refreshed(), 1)
            self.assertEqual(len(self.cluster.metadata.topics), topics)

    def test_sizes(self) -> None:
        """The settings limit the socket's buffers and the largest response."""
        self.network.result(self.ask(send_buffer_bytes=1000, receive_buffer_bytes=2000))
        self.assertEqual([value for _, _, value in self.network.links[-1].options], [1000, 2000])
        waiting = self.ask(kafkatx_response_max_bytes=1 << 16)
        self.network.links[-1].protocol.dataReceived(b"\0\2\0\0")
        self.assertIn("65536", str(self.failureResultOf(waiting, ConnectionFailed).value))


class RetryingTests(ClusterTestCase):
    def setUp(self) -> None:
        """Make attempts that fail as the test prepares."""
        super().setUp()
        self.errors: list[Exception] = []
        self.attempts = 0

    async def attempt(self) -> str:
        """Make one attempt."""
        self.attempts += 1
        if self.errors:
            raise self.errors.pop(0)
        return "done"

    def test_until_it_works(self) -> None:
        """Retriable errors are retried after pauses, and metadata is refreshed meanwhile."""
        self.errors = [ConnectionFailed("x"), RequestError(ErrorCode.NOT_CONTROLLER)]
        self.assertEqual(self.run_(self.cluster.retrying(self.attempt), 1), "done")
        self.assertEqual(self.attempts, 3)
        self.assertGreaterEqual(len(self.metadata_requests()), 2)

    def test_for_good(self) -> None:
        """A final error is raised at once."""
        self.errors = [RequestError(ErrorCode.INVALID_TOPIC_EXCEPTION)]
        self.assertRaises(RequestError, self.run_, self.cluster.retrying(self.attempt))
        self.assertEqual(self.attempts, 1)

    def test_time_is_up(self) -> None:
        """The last error is raised after the time of a call."""
        self.errors = [ConnectionFailed(str(number)) for number in range(1000)]
        error = self.assertRaises(
            ConnectionFailed, self.run_, self.cluster.retrying(self.attempt), self.cluster.api_timeout_s
        )
        self.assertEqual(str(error), str(self.attempts - 1))
        self.assertGreater(self.attempts, 50)

    def test_an_attempt_without_end(self) -> None:
        """An attempt that takes longer than the call may is cancelled."""
        ends: list[type[BaseException]] = []

        async def for_ever() -> None:
            try:
                await Deferred()
            except BaseException as error:
                ends.append(type(error))
                raise

        waiting = Deferred.fromCoroutine(self.cluster.retrying(for_ever))
        self.network.pump(self.cluster.api_timeout_s + 0.1)
        self.failureResultOf(waiting, RequestTimedOut)
        self.assertEqual(ends, [CancelledError])

    def test_cut_off_after_a_failure(self) -> None:
        """A time-out during an attempt raises the error of the attempt before it."""
        self.errors = [ConnectionFailed("x")]

        async def once_and_then_for_ever() -> None:
            await self.attempt()
            await Deferred()

        waiting = Deferred.fromCoroutine(self.cluster.retrying(once_and_then_for_ever))
        self.network.run(self.cluster.api_timeout_s + 0.1)
        self.assertEqual(str(self.failureResultOf(waiting, ConnectionFailed).value), "x")
        self.assertEqual(self.attempts, 2)

    def test_cancel(self) -> None:
        """No attempt follows a cancellation."""
        self.errors = [ConnectionFailed("x")]
        waiting = Deferred.fromCoroutine(self.cluster.retrying(self.attempt))
        waiting.cancel()
        self.failureResultOf(waiting, CancelledError)
        self.network.run(2)
        self.assertEqual(self.attempts, 1)

    def test_how_long(self) -> None:
        """Calls of producers take at most max.block.ms, those of others default.api.timeout.ms."""
        for kind, name in (("producer", "max_block_ms"), ("consumer", "default_api_timeout_ms")):
            made: Cluster = self.network.cluster(kind, **{name: 1234})
            self.assertEqual(made.api_timeout_s, 1.234)
        made = self.network.cluster("producer", max_block_ms=0, default_api_timeout_ms=5000)
        self.assertEqual(made.api_timeout_s, 5)


class CoordinatorTests(ClusterTestCase):
    def test_from_memory(self) -> None:
        """A coordinator is looked up once, until it is forgotten."""
        for _ in range(2):
            self.assertEqual(self.run_(self.cluster.coordinator("g")), 3)
        self.assertEqual(len(self.network.sent(FindCoordinatorRequest)), 1)
        self.cluster.forget_coordinator("g")
        self.run_(self.cluster.coordinator("g"))
        self.assertEqual(len(self.network.sent(FindCoordinatorRequest)), 2)

    def test_retried(self) -> None:
        """A lookup is repeated while there is no coordinator."""
        self.coordinators = [ErrorCode.COORDINATOR_NOT_AVAILABLE] * 3
        self.assertEqual(self.run_(self.cluster.coordinator("g"), 2), 3)

    def test_refused(self) -> None:
        """A final error is raised, and names the group."""
        self.coordinators = [ErrorCode.GROUP_AUTHORIZATION_FAILED]
        error = self.assertRaises(RequestError, self.run_, self.cluster.coordinator("g"))
        self.assertEqual(str(error), "the coordinator of group 'g': group authorization failed")

    def test_old_brokers(self) -> None:
        """A response before version 4, which is not a list, is read."""
        self.network.newest[FindCoordinatorRequest] = 2
        self.network.answers[FindCoordinatorRequest] = lambda node, request, version: FindCoordinatorResponse(
            node_id=2 if request.key == "g" else -1, host="broker2", port=9092
        )
        other = self.network.started()
        self.assertEqual(self.run_(other.coordinator("g")), 2)
        self.network.result(other.close())

    def test_broker_that_metadata_lacks(self) -> None:
        """A coordinator that metadata lacks is used at the address of the response."""
        self.network.answers[FindCoordinatorRequest] = lambda *_: FindCoordinatorResponse(
            coordinators=[Coordinator("g", 8, "broker8", 9092, 0)]
        )
        node = self.run_(self.cluster.coordinator("g"))
        self.assertEqual(node, 8)
        reply = self.network.result(self.cluster.request(node, ListGroupsRequest(), lane="group"))
        self.assertEqual(reply.throttle_time_ms, 8)
