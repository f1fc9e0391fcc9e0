"""The order of requests and replies on a connection, and how it ends."""

from __future__ import annotations

from twisted.internet.defer import Deferred, fail, succeed
from twisted.logger import LogLevel, capturedLogs

from kafkatx.errors import ProtocolViolation
from kafkatx.net import connection as connection_module
from kafkatx.net.requests import Reply
from tests.net.fakes import ConnectionTestCase, commit, fetch, framed, produce

NO_FRAME = b"\xff\xff\xff\xff"


class OrderTests(ConnectionTestCase):
    def test_replies_in_request_order(self) -> None:
        """Produce replies that become ready out of order leave in the order of the requests."""
        waiting = {name: Deferred[Reply]() for name in (b"a", b"b", b"c")}
        self.requests.script.update(waiting)
        connection, transport = self.connect()
        connection.dataReceived(produce(b"a", b"b", b"c"))
        waiting[b"c"].callback(framed(b"c"))
        waiting[b"b"].callback(framed(b"b"))
        self.assertEqual(transport.replies(), [])
        waiting[b"a"].callback(framed(b"a"))
        self.assertEqual(transport.replies(), [b"a", b"b", b"c"])

    def test_last_first_is_one_write(self) -> None:
        """Replies that become ready from the last to the first leave in one write."""
        waiting = {name: Deferred[Reply]() for name in (b"a", b"b", b"c")}
        self.requests.script.update(waiting)
        connection, transport = self.connect()
        writes: list[bytes] = []
        write = transport.write

        def counted(data: bytes) -> None:
            writes.append(data)
            write(data)

        self.patch(transport, "write", counted)
        connection.dataReceived(produce(b"a", b"b", b"c"))
        for name in (b"c", b"b", b"a"):
            waiting[name].callback(framed(name))
        self.assertEqual((transport.replies(), len(writes)), ([b"a", b"b", b"c"], 1))

    def test_many_unanswered(self) -> None:
        """No more produce requests begin while many are unanswered; they begin when one is answered."""
        self.patch(connection_module, "MOST_PENDING", 2)
        waiting = {name: Deferred[Reply]() for name in (b"a", b"b", b"c", b"d")}
        self.requests.script.update(waiting)
        connection, transport = self.connect()
        for name in waiting:
            connection.dataReceived(produce(name))
        self.settle()
        self.assertEqual([one for one in self.requests.events if isinstance(one, bytes)], [b"a", b"b"])
        waiting[b"a"].callback(framed(b"a"))
        self.settle()
        self.assertEqual([one for one in self.requests.events if isinstance(one, bytes)], [b"a", b"b", b"c"])
        for name in (b"b", b"c"):
            waiting[name].callback(framed(name))
        self.settle()
        waiting[b"d"].callback(framed(b"d"))
        self.assertEqual(transport.replies(), [b"a", b"b", b"c", b"d"])

    def test_others_have_turns(self) -> None:
        """After some replies of many small requests in one read other connections have their turn."""
        names = [b"%03d" % number for number in range(100)]
        connection, transport = self.connect()
        connection.dataReceived(fetch(*names))
        self.assertEqual(transport.replies(), names[:8])
        other, other_transport = self.connect()
        other.dataReceived(fetch(b"other"))
        self.assertEqual(other_transport.replies(), [b"other"])
        self.settle()
        self.assertEqual(transport.replies(), names)

    def test_ready_reply_behind_a_waiting_one(self) -> None:
        """A reply that is ready at once does not overtake one that is still pending."""
        first = self.requests.script[b"a"] = Deferred[Reply]()
        connection, transport = self.connect()
        connection.dataReceived(produce(b"a", b"b"))
        self.assertEqual(transport.replies(), [])
        first.callback(framed(b"a"))
        self.assertEqual(transport.replies(), [b"a", b"b"])

    def test_reply_without_bytes_keeps_its_place(self) -> None:
        """A produce with acks=0 behind a pending one sends nothing and delays no other reply."""
        first = self.requests.script[b"a"] = Deferred[Reply]()
        self.requests.script[b"b"] = None
        connection, transport = self.connect()
        connection.dataReceived(produce(b"a", b"b", b"c"))
        first.callback(framed(b"a"))
        self.assertEqual(transport.replies(), [b"a", b"c"])

    def test_deferred_that_has_fired(self) -> None:
        """A Deferred that has already fired is answered in order, together with the replies around it."""
        self.requests.script[b"b"] = succeed(framed(b"b"))
        connection, transport = self.connect()
        writes: list[bytes] = []
        write = transport.write

        def counted(data: bytes) -> None:
            writes.append(data)
            write(data)

        self.patch(transport, "write", counted)
        connection.dataReceived(fetch(b"a", b"b", b"c"))
        self.assertEqual(transport.replies(), [b"a", b"b", b"c"])
        self.assertEqual(len(writes), 1)

    def test_parked_request_blocks_later_ones(self) -> None:
        """Requests behind a parked fetch are not examined until the fetch is answered."""
        parked = self.requests.script[b"parked"] = Deferred[Reply]()
        connection, transport = self.connect()
        connection.dataReceived(fetch(b"parked", b"next") + produce(b"last"))
        self.assertEqual(self.requests.events, [b"parked"])
        parked.callback(framed(b"parked"))
        self.assertEqual(transport.replies(), [b"parked"])
        self.settle()
        self.assertEqual(transport.replies(), [b"parked", b"next", b"last"])

    def test_more_ends_a_wait(self) -> None:
        """A reply that waits is told when the peer sends more: it may come then, before what follows."""
        parked = self.requests.script[b"parked"] = Deferred[Reply]()
        connection, transport = self.connect()
        connection.dataReceived(fetch(b"parked"))
        connection.peer.hurry = lambda: None if parked.called else parked.callback(framed(b"parked"))
        connection.dataReceived(fetch(b"next"))
        self.settle()
        self.assertEqual(transport.replies(), [b"parked", b"next"])

    def test_produce_waits_for_a_parked_fetch(self) -> None:
        """A produce is not staged while a request of another kind is unanswered."""
        self.requests.script[b"parked"] = Deferred[Reply]()
        connection, _ = self.connect()
        connection.dataReceived(fetch(b"parked"))
        connection.dataReceived(produce(b"p"))
        self.assertEqual(self.requests.events, [b"parked"])

    def test_fetch_waits_for_unanswered_produce(self) -> None:
        """A fetch starts when the produce requests before it have been answered."""
        acks = self.requests.script[b"p"] = Deferred[Reply]()
        connection, transport = self.connect()
        connection.dataReceived(produce(b"p") + fetch(b"f"))
        self.assertNotIn(b"f", self.requests.events)
        acks.callback(framed(b"p"))
        self.settle()
        self.assertEqual(transport.replies(), [b"p", b"f"])

    def test_commits_follow_produce(self) -> None:
        """Only commits and produce requests start while other commits and produce requests are unanswered."""
        waiting = {name: Deferred[Reply]() for name in (b"p", b"c")}
        self.requests.script.update(waiting)
        connection, transport = self.connect()
        connection.dataReceived(produce(b"p") + commit(b"c", b"d") + produce(b"q") + fetch(b"f"))
        self.assertEqual(
            self.requests.events, [b"p", b"c", ("write", [b"p"]), b"d", b"q", ("write", [b"d", b"q"]), "wake"]
        )
        waiting[b"c"].callback(framed(b"c"))
        self.assertEqual(transport.replies(), [])
        waiting[b"p"].callback(framed(b"p"))
        self.settle()
        self.assertEqual(transport.replies(), [b"p", b"c", b"d", b"q", b"f"])

    def test_produce_that_stands_alone(self) -> None:
        """No request overtakes a produce request that is staged later, and it overtakes none before it."""
        first, alone = self.requests.script[b"p"], self.requests.script[b"alone"] = (
            Deferred[Reply](),
            Deferred[Reply](),
        )
        connection, transport = self.connect()
        connection.dataReceived(produce(b"p", b"alone", b"q") + commit(b"c"))
        self.assertEqual(self.requests.events, [b"p", b"alone", ("write", [b"p", b"alone"]), "wake"])
        first.callback(framed(b"p"))
        self.settle()
        connection.dataReceived(produce(b"r"))
        self.assertNotIn(b"q", self.requests.events)
        alone.callback(framed(b"alone"))
        self.settle()
        self.assertEqual(transport.replies(), [b"p", b"alone", b"q", b"c", b"r"])

    def test_commit_waits_for_a_parked_fetch(self) -> None:
        """A commit is not examined while a request of another kind is unanswered."""
        self.requests.script[b"parked"] = Deferred[Reply]()
        connection, _ = self.connect()
        connection.dataReceived(fetch(b"parked") + commit(b"c"))
        self.assertEqual(self.requests.events, [b"parked"])

    def test_commit_that_is_refused_at_once(self) -> None:
        """A commit that is answered without being staged does not overtake staged ones."""
        self.requests.script[b"c"] = framed(b"refused")
        connection, transport = self.connect()
        connection.dataReceived(produce(b"a") + commit(b"b", b"c", b"d"))
        self.assertEqual(transport.replies(), [b"a", b"b", b"refused", b"d"])

    def test_split_anywhere(self) -> None:
        """Every request is answered once and in order, wherever the stream is split into reads."""
        stream = produce(b"a", b"b") + fetch(b"c") + commit(b"d")
        for cut in range(len(stream) + 1):
            connection, transport = self.connect()
            connection.dataReceived(stream[:cut])
            connection.dataReceived(stream[cut:])
            self.assertEqual(transport.replies(), [b"a", b"b", b"c", b"d"], f"cut at {cut}")


class StagingTests(ConnectionTestCase):
    def test_one_write_per_read(self) -> None:
        """Produce requests of one read are staged, then written together; then waiting fetches are woken."""
        connection, transport = self.connect()
        connection.dataReceived(produce(b"a") + commit(b"b") + produce(b"c"))
        self.assertEqual(self.requests.events, [b"a", b"b", b"c", ("write", [b"a", b"b", b"c"]), "wake"])
        self.assertEqual(transport.replies(), [b"a", b"b", b"c"])

    def test_other_request_commits_first(self) -> None:
        """Staged data is written before a request of another kind is served, which may read it."""
        connection, _ = self.connect()
        connection.dataReceived(produce(b"a") + fetch(b"f") + produce(b"b"))
        self.assertEqual(
            self.requests.events, [b"a", ("write", [b"a"]), b"f", b"b", ("write", [b"b"]), "wake"]
        )

    def test_nothing_staged_nothing_written(self) -> None:
        """A read without produce requests neither writes nor wakes fetches."""
        connection, _ = self.connect()
        connection.dataReceived(fetch(b"f"))
        self.assertEqual(self.requests.events, [b"f"])

    def test_replies_join_into_one_write(self) -> None:
        """The replies of one read leave together, in one call to the transport."""
        connection, transport = self.connect()
        writes: list[bytes] = []
        self.patch(transport, "write", writes.append)
        connection.dataReceived(produce(b"a", b"b") + fetch(b"c"))
        self.assertEqual(writes, [b"\0\0\0\1a\0\0\0\1b\0\0\0\1c"])

    def test_failed_write_reaches_its_reply(self) -> None:
        """A write that write_staged() reports as failed reaches its own answer and no other."""
        self.requests.failing = {b"a": OSError()}
        connection, transport = self.connect()
        connection.dataReceived(produce(b"a", b"b"))
        self.assertEqual(transport.replies(), [b"failed a", b"b"])


class ViolationTests(ConnectionTestCase):
    def warnings(self, stream: bytes) -> tuple[list[str], list[bytes], bool]:
        """Feed *stream*; return the warnings, the replies, and whether the connection was closed."""
        connection, transport = self.connect()
        with capturedLogs() as events:
            connection.dataReceived(stream)
            connection.dataReceived(stream)
        found = [str(e["reason"]) for e in events if e["log_level"] >= LogLevel.warn]
        return found, transport.replies(), transport.disconnecting

    def test_closed_with_one_warning(self) -> None:
        """A stream that is not a frame closes the connection with one warning, however long it is."""
        warnings, replies, closed = self.warnings(NO_FRAME)
        self.assertEqual((len(warnings), replies, closed), (1, [], True))

    def test_warning_names_the_peer(self) -> None:
        """The warning names the peer."""
        connection, _ = self.connect(host="192.0.2.7", port=1234)
        with capturedLogs() as events:
            connection.dataReceived(NO_FRAME)
        self.assertEqual(str(events[0]["peer"]), "192.0.2.7:1234")

    def test_earlier_requests_are_answered(self) -> None:
        """Whole requests before a broken frame are answered before the connection closes."""
        warnings, replies, closed = self.warnings(produce(b"a") + fetch(b"b") + NO_FRAME)
        self.assertEqual((len(warnings), replies, closed), (1, [b"a", b"b"], True))

    def test_closes_after_the_waiting_reply(self) -> None:
        """A broken frame behind a pending request closes the connection after that request's reply."""
        parked = self.requests.script[b"parked"] = Deferred[Reply]()
        connection, transport = self.connect()
        connection.dataReceived(fetch(b"parked") + NO_FRAME)
        self.assertFalse(transport.disconnecting)
        parked.callback(framed(b"parked"))
        self.settle()
        self.assertEqual(transport.replies(), [b"parked"])
        self.assertTrue(transport.disconnecting)

    def test_request_that_is_none(self) -> None:
        """A request that the dispatch cannot parse closes the connection; those behind it are not served."""
        self.requests.script[b"bad"] = ProtocolViolation("garbage")
        warnings, replies, closed = self.warnings(fetch(b"a", b"bad", b"b"))
        self.assertEqual((warnings, replies, closed), (["garbage"], [b"a"], True))

    def test_staged_before_a_violation(self) -> None:
        """Produce requests before a broken one are written and acknowledged."""
        self.requests.script[b"bad"] = ProtocolViolation("garbage")
        warnings, replies, closed = self.warnings(produce(b"a", b"bad"))
        self.assertIn(("write", [b"a"]), self.requests.events)
        self.assertEqual((warnings, replies, closed), (["garbage"], [b"a"], True))

    def test_error_without_acks(self) -> None:
        """A produce with acks=0 that fails closes the connection, its only way to report the error."""
        self.requests.script[b"b"] = None
        connection, transport = self.connect()
        connection.dataReceived(produce(b"a", b"b"))
        self.assertFalse(transport.disconnecting)
        failing = self.connect()[0]
        self.requests.script[b"c"] = Deferred()
        with capturedLogs() as events:
            failing.dataReceived(produce(b"c"))
            self.requests.script[b"c"].errback(ProtocolViolation("acks=0 failed"))
        assert isinstance(failing.transport, type(transport))
        self.assertTrue(failing.transport.disconnecting)
        self.assertEqual([str(e["reason"]) for e in events], ["acks=0 failed"])

    def test_error_without_acks_at_once(self) -> None:
        """An acks=0 error known when the round is written also closes it; earlier requests have replies."""
        connection, transport = self.connect()
        self.requests.finishing[b"zero"] = ProtocolViolation("acks=0 failed")
        connection.dataReceived(produce(b"a", b"zero", b"b"))
        self.assertEqual(transport.replies(), [b"a"])
        self.assertTrue(transport.disconnecting)


class EndTests(ConnectionTestCase):
    def test_disconnect_cancels_what_waits(self) -> None:
        """A disconnect cancels the pending requests and logs nothing."""
        cancelled: list[object] = []
        self.requests.script[b"parked"] = Deferred(cancelled.append)
        connection, _ = self.connect()
        connection.dataReceived(fetch(b"parked", b"never"))
        with capturedLogs() as events:
            self.lose(connection)
        self.settle()
        self.assertEqual(len(cancelled), 1)
        self.assertEqual(self.requests.events, [b"parked"])
        self.assertEqual((events, self.factory.connections), ([], set()))

    def test_reply_that_cannot_be_made(self) -> None:
        """A bug in making a reply closes that connection and is logged with its traceback."""
        self.requests.script[b"bug"] = fail(ZeroDivisionError())
        connection, transport = self.connect()
        connection.dataReceived(fetch(b"bug"))
        self.assertTrue(transport.disconnecting)
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)

    def test_bug_in_the_dispatch(self) -> None:
        """A bug in the dispatch closes that connection, is logged, and loses no staged data."""
        self.requests.script[b"bug"] = ZeroDivisionError()
        connection, transport = self.connect()
        other, other_transport = self.connect()
        connection.dataReceived(produce(b"a") + fetch(b"b", b"bug"))
        other.dataReceived(produce(b"c"))
        self.assertTrue(transport.disconnecting)
        self.assertEqual((transport.replies(), other_transport.replies()), ([b"a", b"b"], [b"c"]))
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)

    def test_idle_connections_close(self) -> None:
        """Connections idle for connections.max.idle.ms are closed; active and waiting ones are not."""
        factory = self.make_factory(max_idle_ms=10_000)
        self.requests.script[b"parked"] = Deferred[Reply]()
        idle, speaking, waiting = (self.connect(factory) for _ in range(3))
        waiting[0].dataReceived(fetch(b"parked"))
        self.clock.advance(6)
        speaking[0].dataReceived(fetch(b"hello"))
        self.clock.advance(5)
        factory.close_idle()
        closed = [transport.disconnecting for _, transport in (idle, speaking, waiting)]
        self.assertEqual(closed, [True, False, False])

    def test_idle_without_limit(self) -> None:
        """No connection is closed with connections.max.idle.ms=-1."""
        _, transport = self.connect()
        self.clock.advance(10**6)
        self.factory.close_idle()
        self.assertFalse(transport.disconnecting)

    def test_close_all(self) -> None:
        """Stopping closes every connection and cancels its pending requests."""
        cancelled: list[object] = []
        self.requests.script[b"parked"] = Deferred(cancelled.append)
        made = [self.connect() for _ in range(3)]
        made[0][0].dataReceived(fetch(b"parked"))
        self.factory.close_all()
        self.assertTrue(all(transport.disconnecting for _, transport in made))
        self.assertEqual(len(cancelled), 1)
