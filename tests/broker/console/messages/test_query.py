"""The parameters of searches."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.console.errors import ConsoleError
from kafkatx.broker.console.messages.query import Limits, Origin, Query, read_origin, write_origin
from kafkatx.views.formats.masks import read_rule
from kafkatx.web.calls import Call, read_target


def query(text: str, limits: Limits | None = None) -> Query:
    """Read a query."""
    _, parameters = read_target(f"/messages?topic=orders-eu&{text}".encode())
    return Query.of(Call("GET", "", (), parameters), limits or Limits())


class OriginTests(SynchronousTestCase):
    def test_read(self) -> None:
        """Each kind of origin is read, and those that go on are written as they are read."""
        for text, origin in (
            ("oldest", Origin("oldest")),
            ("newest", Origin("newest")),
            ("time:5", Origin("time", 5)),
            ("offset:7", Origin("offset", 7)),
            ("offsets:0=5,3=9", Origin("offsets", offsets={0: 5, 3: 9})),
            ("before:1=2", Origin("before", offsets={1: 2})),
        ):
            self.assertEqual(read_origin(text), origin)
        self.assertEqual(write_origin("offsets", {3: 9, 0: 5}), "offsets:0=5,3=9")
        self.assertEqual(read_origin(f"offset:{2**63 - 1}").number, 2**63 - 1)

    def test_wrong(self) -> None:
        """Others are refused."""
        for text in (
            "",
            "x",
            "newest:1",
            "time",
            "time:-1",
            "offset:1.5",
            "offsets:",
            "before:0=",
            f"offset:{2**63}",
        ):
            self.assertEqual(self.assertRaises(ConsoleError, read_origin, text).status, 400, text)

    def test_positions(self) -> None:
        """Positions take the place of the offsets, in the direction of the origin."""
        self.assertEqual(query("positions=%7B%220%22:%225%22%7D").origin, Origin("before", offsets={0: 5}))
        self.assertEqual(
            query("from=time:5&positions=%7B%220%22:5%7D").origin, Origin("offsets", offsets={0: 5})
        )


class QueryTests(SynchronousTestCase):
    def test_defaults(self) -> None:
        """Without parameters the 100 newest records of all partitions are asked for."""
        found = query("")
        self.assertEqual((found.origin, found.count, found.partitions), (Origin("newest"), 100, None))
        self.assertEqual((found.view.key_format, found.view.filter), ("auto", None))
        self.assertEqual(list(found.chosen(3)), [0, 1, 2])

    def test_characters(self) -> None:
        """Long values are shown of few records, or of few partitions: what is held stays bounded."""
        self.assertEqual(query("").most_characters, 10_000)
        self.assertEqual(query("count=1000").most_characters, 5_000)
        long = query("count=1&characters=1000000")
        self.assertEqual((long.most_characters, list(long.chosen(2))), (1_000_000, [0, 1]))
        self.assertIn("at most 5 of the 6", str(self.assertRaises(ConsoleError, long.chosen, 6)))
        self.assertRaises(ConsoleError, query, "count=6&characters=1000000")

    def test_limits(self) -> None:
        """The settings bound what is read, whatever is asked for; masks are those of the topic."""
        limits = Limits(
            "full", 1000, (read_rule("orders*:a"), read_rule("x:b")), {"mine": "m:F", "avro": "m:G"}
        )
        found = query("bytes=5000&valueFormat=mine&partition=2,0,2", limits)
        self.assertEqual((found.most_bytes, found.partitions), (1000, (0, 2)))
        self.assertEqual(found.view.masks.value, (("a",),))
        self.assertEqual(query("bytes=10", limits).most_bytes, 10)
        self.assertEqual(limits.formats.count("avro"), 1)
        self.assertIn("mine", limits.formats)
