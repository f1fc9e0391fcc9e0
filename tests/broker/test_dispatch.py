"""The dispatch from frames to answers: served APIs, refused requests, and bugs in handlers."""

from __future__ import annotations

from functools import partial
from typing import Any

from twisted.internet.defer import CancelledError, Deferred, fail
from twisted.logger import LogLevel, capturedLogs

from kafkatx.broker.dispatch import MAX_PLAIN_REQUEST_BYTES, Api, Dispatch, Served
from kafkatx.broker.handlers import SERVED, describe_cluster
from kafkatx.broker.requests.context import RequestContext
from kafkatx.errors import ErrorCode, ProtocolViolation, RequestError
from kafkatx.net.requests import Peer
from kafkatx.records.builder import build_values
from kafkatx.wire import codec
from kafkatx.wire.api import API_VERSIONS, APIS
from kafkatx.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafkatx.wire.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from kafkatx.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.broker.running import CORRELATION_ID, BrokerTestCase, joined, produce_request

CLUSTER = 60


class TableTests(BrokerTestCase):
    def test_no_api_twice(self) -> None:
        """A table in which an API occurs twice is refused at the start."""
        self.assertRaises(ValueError, Dispatch, self.broker, (*SERVED, SERVED[0]))

    def test_all_versions_are_answered(self) -> None:
        """Every version of every API that is offered can be decoded, answered and encoded."""
        for line in SERVED:
            for version in line.api.versions:
                request = line.api.request()
                answer = self.answer(line.api.key, version, request)
                reply = self.successResultOf(answer) if isinstance(answer, Deferred) else answer
                if line.api.key or request.acks:  # type: ignore[attr-defined]  # a produce without acks has none
                    self.response(line.api.key, version, reply)

    def test_load_rest(self) -> None:
        """Handlers are loaded when a request first needs them, or by load_rest()."""
        loaded: list[str] = []

        def load(line: Served) -> Any:
            loaded.append(line.api.name)
            return line.load()

        table = tuple(Served(line.api, partial(load, line)) for line in SERVED)
        self.dispatch = Dispatch(self.broker, table)
        self.assertEqual(loaded, [])
        self.ask(3, 1, MetadataRequest([]))
        self.ask(3, 1, MetadataRequest([]))
        self.assertEqual(loaded, ["Metadata"])
        rest = self.dispatch.load_rest()
        next(rest)
        self.assertEqual(loaded, ["Metadata", "Produce"])
        list(rest)
        self.assertEqual(set(loaded), {line.api.name for line in SERVED})


class UnknownTests(BrokerTestCase):
    def ask_raw(self, key: int, version: int) -> Any:
        """Send a header without a body."""
        header = key.to_bytes(2, "big", signed=True) + version.to_bytes(2, "big", signed=True)
        return self.dispatch.answer(
            memoryview(header + CORRELATION_ID.to_bytes(4, "big") + b"\xff\xff\0"), self.peer
        )

    def test_newer_api_versions(self) -> None:
        """A newer ApiVersions is answered with a body of version 0: error 35 and the range of key 18."""
        for version in (5, 6, 99):
            response = joined(self.ask_raw(18, version))
            assert response is not None
            self.assertEqual(int.from_bytes(response[4:8], "big"), CORRELATION_ID)
            decoded = codec.decode(ApiVersionsResponse, 0, response[8:])
            self.assertEqual(decoded.error_code, ErrorCode.UNSUPPORTED_VERSION)
            self.assertEqual(
                [(k.api_key, k.min_version, k.max_version) for k in decoded.api_keys], [(18, 0, 4)]
            )

    def test_unknown_key(self) -> None:
        """An unknown API key closes the connection; the reason names it."""
        for key in (999, 4, -1):
            with self.assertRaisesRegex(ProtocolViolation, f"API key {key} version 0 is not offered"):
                self.ask_raw(key, 0)

    def test_unknown_version(self) -> None:
        """An unknown version closes the connection; the reason names API and version."""
        for version in (13, -1):
            words = f"Produce version {version} is not offered, but 0 to 12; client '.*'"
            with self.assertRaisesRegex(ProtocolViolation, words):
                self.ask_raw(0, version)

    def test_negative_api_versions(self) -> None:
        """A negative version of ApiVersions is not treated as a newer one."""
        self.assertRaises(ProtocolViolation, self.ask_raw, 18, -1)

    def test_garbage(self) -> None:
        """A body that cannot be decoded closes the connection; the reason names API and version."""
        frame = bytes(self.frame(3, 1, APIS[3].request()))
        with self.assertRaisesRegex(ProtocolViolation, "Metadata v1 request cannot be read"):
            self.dispatch.answer(memoryview(frame[:-4] + b"\x7f\xff\xff\xff"), self.peer)

    def test_too_large(self) -> None:
        """An oversized request without records closes the connection, undecoded."""
        names = [MetadataRequestTopic(name="x" * 32_000)] * (MAX_PLAIN_REQUEST_BYTES // 32_100)
        self.dispatch.answer(self.frame(3, 12, MetadataRequest(names, False)), self.peer)
        with self.assertRaisesRegex(ProtocolViolation, "Metadata v12 request .* bytes are above 8388608"):
            self.dispatch.answer(self.frame(3, 12, MetadataRequest([*names, *names[:5]], False)), self.peer)

    def test_too_many_elements(self) -> None:
        """A request with more elements than kafkatx.request.max.items closes the connection."""
        self.broker = self.make_broker(**{"kafkatx.request.max.items": "5000"})
        self.dispatch = Dispatch(self.broker, SERVED)
        for count, fits in ((5000, True), (5001, False)):
            names = [MetadataRequestTopic(name="t") for _ in range(count)]
            frame = self.frame(3, 9, MetadataRequest(names, False))
            if fits:
                self.dispatch.answer(frame, self.peer)
                continue
            with self.assertRaisesRegex(
                ProtocolViolation, "more than 5000 elements .kafkatx.request.max.items"
            ):
                self.dispatch.answer(frame, self.peer)

    def test_too_short(self) -> None:
        """A frame that is shorter than a header closes the connection."""
        for size in range(8):
            self.assertRaises(ProtocolViolation, self.dispatch.answer, memoryview(bytes(size)), self.peer)


class ApiVersionsTests(BrokerTestCase):
    def test_offers_what_is_served(self) -> None:
        """ApiVersions shows the table of handlers without our own APIs and those of metrics of clients."""
        expected = [
            (line.api.key, line.api.versions[0], line.api.versions[-1])
            for line in SERVED
            if line.api.listed and line.api.key not in (71, 72)
        ]
        for version in range(5):
            response = self.ask(18, version, ApiVersionsRequest("test", "1"))
            self.assertEqual(response.error_code, 0)
            shown = [(k.api_key, k.min_version, k.max_version) for k in response.api_keys]
            self.assertEqual(shown, sorted(expected))

    def test_every_minimum_is_zero(self) -> None:
        """Every API of clients is offered from version 0 on; older ones otherwise disable compression."""
        response = self.ask(18, 0, ApiVersionsRequest())
        above = {key.api_key for key in response.api_keys if key.min_version}
        self.assertEqual(above, {27})  # WriteTxnMarkers, which brokers and tools send, as in Apache Kafka

    def test_header_is_never_flexible(self) -> None:
        """The response header of ApiVersions has version 0, even if the body is flexible."""
        for version in (3, 4):
            data = joined(self.answer(18, version, ApiVersionsRequest("test", "1")))
            assert data is not None
            codec.decode(ApiVersionsResponse, version, data[8:])

    def test_client_software(self) -> None:
        """The client's software name and version are kept for its connection."""
        self.ask(18, 3, ApiVersionsRequest("librdkafka", "2.16.0"))
        self.assertEqual(self.peer.client_software, "librdkafka 2.16.0")
        self.ask(18, 0, ApiVersionsRequest())
        self.assertEqual(self.peer.client_software, "librdkafka 2.16.0")


def cluster_api(answer: Any) -> Any:
    """Return DescribeCluster with another function that answers it."""
    return Api(DescribeClusterRequest, DescribeClusterResponse, answer, describe_cluster.refuse)


class ErrorTests(BrokerTestCase):
    """Exceptions of a handler; DescribeCluster stands for all APIs."""

    def serve(self, answer: Any) -> None:
        """Make DescribeCluster use this handler."""
        table = (
            Served(APIS[CLUSTER], lambda: cluster_api(answer)),
            *(line for line in SERVED if line.api is API_VERSIONS),
        )
        self.dispatch = Dispatch(self.broker, table)

    def raising(self, error: Exception) -> Any:
        """Return a handler that raises."""

        def answer(*_: object) -> None:
            raise error

        return answer

    def ask_cluster(self) -> Any:
        """Return the response of DescribeCluster."""
        return self.ask(CLUSTER, 0, DescribeClusterRequest())

    def check_refused(self, code: ErrorCode, message: str) -> None:
        """Assert that the request is answered with an error."""
        response = self.ask_cluster()
        self.assertEqual((response.error_code, response.error_message), (code, message))

    def test_request_error(self) -> None:
        """A RequestError is answered with its code and message, and not logged."""
        self.serve(self.raising(RequestError(ErrorCode.POLICY_VIOLATION, "not here")))
        with capturedLogs() as events:
            self.check_refused(ErrorCode.POLICY_VIOLATION, "not here")
        self.assertEqual(events, [])

    def test_request_error_later(self) -> None:
        """A RequestError of the handler's Deferred is answered like one that is raised."""
        self.serve(lambda *_: fail(RequestError(ErrorCode.POLICY_VIOLATION, "not here")))
        self.check_refused(ErrorCode.POLICY_VIOLATION, "not here")

    def check_bug(self) -> None:
        """Assert that the request is answered, and that the traceback is logged."""
        with capturedLogs() as events:
            self.check_refused(ErrorCode.UNKNOWN_SERVER_ERROR, "see the broker's log")
        (event,) = (e for e in events if e["log_level"] == LogLevel.critical)
        self.assertEqual((event["route"], event["peer"]), ("DescribeCluster v0", self.peer))
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)

    def test_bug(self) -> None:
        """Any other exception is answered with UNKNOWN_SERVER_ERROR and logged with its traceback."""
        self.serve(self.raising(ZeroDivisionError()))
        self.check_bug()

    def test_bug_later(self) -> None:
        """Any other exception of the handler's Deferred is answered and logged like one that is raised."""
        self.serve(lambda *_: fail(ZeroDivisionError()))
        self.check_bug()

    def test_violation(self) -> None:
        """A handler may require that the connection be closed."""
        self.serve(self.raising(ProtocolViolation("no")))
        self.assertRaises(ProtocolViolation, self.ask_cluster)

    def test_cancelled(self) -> None:
        """A cancelled request cancels the handler's Deferred, without an answer or a log line."""
        waiting: Deferred[Any] = Deferred()
        self.serve(lambda *_: waiting)
        answer = self.answer(CLUSTER, 0, DescribeClusterRequest())
        with capturedLogs() as events:
            answer.cancel()
        self.failureResultOf(answer, CancelledError)
        self.assertEqual(events, [])


class ContextTests(BrokerTestCase):
    def test_of_each_peer(self) -> None:
        """Alternating requests are attributed to the peers that sent them."""
        peers = [Peer("192.0.2.1", port, "127.0.0.1", 9092) for port in (1, 2)]
        for _ in range(2):
            for peer in peers:
                self.peer = peer
                self.ask(18, 3, ApiVersionsRequest(f"client {peer.port}", "1"))
        self.assertEqual([peer.client_software for peer in peers], ["client 1 1", "client 2 1"])

    def test_of_each_client(self) -> None:
        """A connection that changes its client id is known by the new one."""
        seen: list[str | None] = []

        def answer(broker: Any, request: Any, context: RequestContext) -> Any:
            seen.append(context.client_id)
            return describe_cluster.answer(broker, request, context)

        table = (Served(APIS[CLUSTER], lambda: cluster_api(answer)),)
        dispatch = Dispatch(self.broker, table)
        for client_id in ("a", "b", None, "a"):
            dispatch.answer(self.frame(CLUSTER, 0, DescribeClusterRequest(), client_id), self.peer)
        self.assertEqual(seen, ["a", "b", None, "a"])


class RoundTests(BrokerTestCase):
    def test_staged_until_written(self) -> None:
        """A produce request is not visible, and has no reply, before the round is written."""
        (partition,) = self.make_topic()
        frame = self.frame(0, 9, produce_request(build_values([b"v"], self.now_ms)))
        staged = self.dispatch.answer(frame, self.peer)
        self.assertEqual(partition.log.log_end_offset, 0)
        failed = self.dispatch.write_staged()
        self.assertEqual((failed, partition.log.log_end_offset, partition.high_watermark), ({}, 1, 1))
        reply = staged.finish(failed)  # type: ignore[union-attr]  # a Staged
        assert not isinstance(reply, Deferred)
        self.assertEqual(self.response(0, 9, reply).responses[0].partition_responses[0].error_code, 0)
