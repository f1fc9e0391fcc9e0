"""Tests of kafkatx.clientcore.legacy.zookeeper.nodes."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.legacy.topic_filter import Blacklist, Subscription, Whitelist
from kafkatx.clientcore.legacy.zookeeper import nodes
from kafkatx.errors import KafkaTXError
from kafkatx.metadata.layout.fields import UnreadableNode
from kafkatx.types import TopicPartition


class PathTests(SynchronousTestCase):
    def test_paths(self) -> None:
        """The paths are those of Kafka 0.8."""
        paths = nodes.GroupPaths("g")
        at = TopicPartition("t", 3)
        self.assertEqual(paths.member("m"), "/consumers/g/ids/m")
        self.assertEqual(paths.owner(at), "/consumers/g/owners/t/3")
        self.assertEqual(paths.offset(at), "/consumers/g/offsets/t/3")

    def test_parents(self) -> None:
        """Each parent comes after its own parent."""
        made = {"/"}
        for path in nodes.GroupPaths("g").parents(("t", "u")):
            self.assertIn(path.rpartition("/")[0] or "/", made)
            made.add(path)
        self.assertLessEqual({"/consumers/g/ids", "/consumers/g/owners/u", "/consumers/g/offsets/t"}, made)

    def test_bad_group(self) -> None:
        """A group whose name is no node's name is refused."""
        for name in ("", "a/b", "..", "a\0"):
            self.assertRaises(KafkaTXError, nodes.GroupPaths, name)

    def test_member_id(self) -> None:
        """A member id has group, host, time and eight digits."""
        self.assertEqual(nodes.member_id("g", "host", 1000, 0xAB), "g_host-1000-000000ab")


class SubscriptionTests(SynchronousTestCase):
    def test_static(self) -> None:
        """The bytes of a subscription to topics are those of Kafka 0.8."""
        data = nodes.encode_subscription(Subscription({"t": 2}), 1000)
        self.assertEqual(data, b'{"version":1,"subscription":{"t":2},"pattern":"static","timestamp":"1000"}')
        self.assertEqual(nodes.decode_subscription("/p", data), Subscription({"t": 2}))

    def test_filters(self) -> None:
        """A filter is written with its kind and its expression, and read again."""
        for kind, name in ((Whitelist, b"white_list"), (Blacklist, b"black_list")):
            data = nodes.encode_subscription(Subscription(filter=kind("a,b.*"), streams=3), 1000)
            self.assertIn(b'"subscription":{"a,b.*":3},"pattern":"%s"' % name, data)
            found = nodes.decode_subscription("/p", data)
            self.assertIs(type(found.filter), kind)
            self.assertEqual((repr(found.filter), found.streams), (repr(kind("a,b.*")), 3))

    def test_0_7(self) -> None:
        """Subscriptions of Kafka 0.7 are read: topics, white list, black list."""
        self.assertEqual(nodes.decode_subscription("/p", b'{ "t": 2 }'), Subscription({"t": 2}))
        white, black = (nodes.decode_subscription("/p", data) for data in (b"*2*e.*", b"!1!x"))
        self.assertEqual((repr(white.filter), white.streams), ("Whitelist('e.*')", 2))
        self.assertEqual((repr(black.filter), black.streams), ("Blacklist('x')", 1))

    def test_unreadable(self) -> None:
        """Another content is UnreadableNode, never another error."""
        for data in (
            b"",
            b"\xff",
            b"[]",
            b"{}",
            b'{"t":0}',
            b'{"t":"2"}',
            b'{"version":2,"subscription":{"t":1},"pattern":"static"}',
            b'{"version":1,"subscription":{"t":1},"pattern":"other"}',
            b'{"version":1,"subscription":{"(":1},"pattern":"white_list"}',
            b'{"version":1,"subscription":{"a":1,"b":1},"pattern":"white_list"}',
        ):
            with self.assertRaises(UnreadableNode, msg=repr(data)):
                nodes.decode_subscription("/p", data)


class ValueTests(SynchronousTestCase):
    def test_offset(self) -> None:
        """An offset is digits; anything else is refused."""
        self.assertEqual(nodes.encode_offset(42), b"42")
        self.assertEqual(nodes.decode_offset("/p", b"42"), 42)
        self.assertEqual(nodes.decode_offset("/p", b"%d" % (2**63 - 1)), 2**63 - 1)
        for data in (b"", b"-1", b"x", b"9223372036854775808"):
            self.assertRaises(UnreadableNode, nodes.decode_offset, "/p", data)

    def test_owner(self) -> None:
        """An owner is a member's stream."""
        self.assertEqual(nodes.encode_owner("m", 1), b"m-1")

    def test_partition_0_7(self) -> None:
        """A partition of Kafka 0.7 has its broker's id."""
        self.assertEqual(nodes.partition_0_7("2-13"), (2, 13))
        self.assertIsNone(nodes.partition_0_7("13"))
