"""Searches in the records of a broker in memory."""

from __future__ import annotations

import json
from typing import Any

from kafkatx.broker.console.messages import search, steps
from kafkatx.broker.replica.partition import Partition
from kafkatx.records.builder import BatchBuilder
from kafkatx.types import Marker
from tests.broker.console.messages.case import MessagesCase, Reader


class OrderTests(MessagesCase):
    def setUp(self) -> None:
        """Write a number to the two partitions in turn."""
        super().setUp()
        for number in range(40):
            self.write(number % 2, b'{"n":%d}' % number)

    def numbers(self, reader: Reader) -> list[int]:
        """Return the numbers that were found."""
        return [json.loads(text)["n"] for text in reader.texts]

    def end(self, reader: Reader) -> Any:
        """Return the end of a search."""
        (end,) = reader.of("end")
        self.assertEqual(reader.of("failure"), [])
        return end

    def test_newest(self) -> None:
        """The newest records of all partitions come first, older ones with the next searches."""
        found = self.search(count=15)
        self.assertEqual(self.numbers(found), list(range(39, 24, -1)))
        end = self.end(found)
        self.assertTrue(end["more"])
        found = self.search(count=15, **{"from": end["next"]})
        self.assertEqual(self.numbers(found), list(range(24, 9, -1)))
        positions = json.dumps(self.end(found)["positions"])
        found = self.search(count=15, positions=positions)
        self.assertEqual(self.numbers(found), list(range(9, -1, -1)))
        self.assertEqual((self.end(found)["more"], self.end(found)["next"]), (False, None))

    def test_oldest(self) -> None:
        """From the oldest on records come in the order of time, and a further search goes on."""
        found = self.search(count=15, **{"from": "oldest"})
        self.assertEqual(self.numbers(found), list(range(15)))
        found = self.search(
            count=100, positions=json.dumps(self.end(found)["positions"]), **{"from": "oldest"}
        )
        self.assertEqual(self.numbers(found), list(range(15, 40)))
        self.assertFalse(self.end(found)["more"])

    def test_origins(self) -> None:
        """A search begins at a time, at an offset, or at offsets of some partitions."""
        time = self.now_ms - 4
        self.assertEqual(self.numbers(self.search(**{"from": f"time:{time}"})), list(range(35, 40)))
        self.assertEqual(self.numbers(self.search(**{"from": f"time:{self.now_ms + 9}"})), [])
        self.assertEqual(self.numbers(self.search(**{"from": "offset:18"})), [36, 37, 38, 39])
        self.assertEqual(self.numbers(self.search(**{"from": "offsets:1=18"})), [37, 39])
        self.assertEqual(self.numbers(self.search(**{"from": "before:1=2"})), [3, 1])
        self.assertEqual(self.numbers(self.search(partition="1", count=2)), [39, 37])

    def test_filter(self) -> None:
        """A filter finds what it accepts in both directions, and says how much it has looked at."""
        found = self.search(filter="value.n % 10 == 3")
        self.assertEqual(self.numbers(found), [33, 23, 13, 3])
        end = self.end(found)
        self.assertEqual((end["scannedRecords"], end["matched"], end["more"]), (40, 4, False))
        self.assertGreater(int(end["scannedBytes"]), 1000)
        found = self.search(filter="value.n % 10 == 3", count=2, **{"from": "oldest"})
        self.assertEqual(self.numbers(found), [3, 13])
        self.assertTrue(self.end(found)["more"])

    def test_bounded(self) -> None:
        """A search ends when it has read as many bytes as it may, and goes on where it has stopped."""
        self.patch(steps, "CHUNK_BYTES", 300)
        numbers: list[int] = []
        parameters: dict[str, object] = {"from": "oldest"}
        for _ in range(100):
            found = self.search(filter="value.n % 3 == 0", bytes=700, **parameters)
            numbers += self.numbers(found)
            end = self.end(found)
            self.assertLess(int(end["scannedBytes"]), 1400)
            if not end["more"]:
                break
            parameters = {"from": end["next"]}
        self.assertEqual(sorted(numbers), list(range(0, 40, 3)))
        self.assertEqual(len(set(numbers)), len(numbers))

    def test_bounded_backwards(self) -> None:
        """The same holds from new to old."""
        self.patch(search, "FIRST_WINDOW", 3)
        self.patch(search, "MOST_WINDOW_BYTES", 300)
        numbers: list[int] = []
        parameters: dict[str, object] = {}
        for _ in range(100):
            found = self.search(filter="value.n % 3 == 0", bytes=500, **parameters)
            numbers += self.numbers(found)
            if not self.end(found)["more"]:
                break
            parameters = {"positions": json.dumps(self.end(found)["positions"])}
        self.assertEqual(sorted(numbers), list(range(0, 40, 3)))
        self.assertEqual(len(set(numbers)), len(numbers))

    def test_small_answers(self) -> None:
        """Records are found each once, however little room the answers of steps have."""
        self.patch(search, "MOST_HELD_BYTES", 400)
        self.patch(search, "LEAST_HELD_BYTES", 400)
        self.assertEqual(self.numbers(self.search()), list(range(39, -1, -1)))
        self.assertEqual(self.numbers(self.search(**{"from": "oldest"})), list(range(40)))

    def test_later_records(self) -> None:
        """A search ends at the records that are there when it begins."""
        reader = self.reader("/messages", count=1000, **{"from": "oldest"})
        self.write(0, b'{"n":99}')
        self.pass_time(1)
        self.assertNotIn(99, self.numbers(reader))


class StateTests(MessagesCase):
    partitions = 1

    def partition(self) -> Partition:
        """Return the partition."""
        found = self.broker.topics.find("t", 0)
        assert found is not None
        return found

    def test_empty(self) -> None:
        """A search in an empty topic ends at once."""
        for origin in ("newest", "oldest", "time:5", "offset:7"):
            found = self.search(**{"from": origin})
            self.assertEqual([name for name, _ in found.events], ["end"])
            self.assertFalse(found.of("end")[0]["more"])

    def test_deleted_records(self) -> None:
        """Records that were deleted are no error; a search begins where the log does."""
        self.write(0, b"a")
        self.write(0, b"b")
        self.partition().log.advance_log_start(1)
        self.assertEqual(self.search(**{"from": "offset:0"}).texts, ["b"])
        self.assertEqual(self.search().texts, ["b"])

    def test_sparse(self) -> None:
        """The newest records of a log with few offsets left are found in few steps."""
        self.patch(search, "FIRST_WINDOW", 1)
        for number in range(30):
            self.write(0, b"%d" % number)
        log = self.partition().log
        kept = [one for one in range(30) if one % 10 == 0]
        reading = log.read

        def read(offset: int, max_bytes: int, end: int, at_least_one: bool) -> Any:
            """Read as a log that compaction has left few batches of."""
            left = [one for one in kept if offset <= one < end]
            return reading(left[0], 1, left[0] + 1, True) if left else b""

        self.patch(log, "read", read)
        views: Any = self.console.parts.views
        found = self.search(count=2)
        self.assertEqual(found.texts, ["20", "10"])
        self.assertLess(views.asked, 10)

    def test_transactions(self) -> None:
        """Markers and states of transactions are shown; read_committed shows what consumers get."""
        log = self.partition().log
        for producer_id, value in ((1, b"a"), (2, b"b")):
            builder = BatchBuilder(
                producer_id=producer_id, producer_epoch=0, base_sequence=0, transactional=True
            )
            builder.append(None, value, 5)
            self.assertFalse(log.append(builder.build(), 0, 5, True, verified=True).error)
            log.write()
        log.append_marker(1, 0, Marker(False, 0), 0, 6)
        log.write()
        self.partition().advance()
        records = self.search(**{"from": "oldest"}).of("record")
        self.assertEqual([one["transactional"] for one in records], ["aborted", "open", None])
        self.assertEqual([one["control"] for one in records], [None, None, "abort"])
        found = self.search(isolation="read_committed", filter="true", **{"from": "oldest"})
        self.assertEqual(found.texts, [])

    def test_tombstones(self) -> None:
        """A tombstone is told apart from an empty value, and a key from none."""
        self.write(0, None, b"", key=b"k")
        first, second = self.search(**{"from": "oldest"}).of("record")
        self.assertEqual((first["value"]["format"], first["value"]["size"]), ("null", -1))
        self.assertEqual((second["value"]["format"], second["value"]["text"]), ("text", ""))
        self.assertEqual(first["key"]["text"], "k")

    def test_slow_reader(self) -> None:
        """A page that reads slowly gets everything; the search waits for it, and holds little."""
        for number in range(50):
            self.write(0, b"%04d" % number * 2000)
        reader = self.reader("/messages", count=1000, **{"from": "oldest"})
        views: Any = self.console.parts.views
        for _ in range(200):
            reader.stream.pauseProducing()
            self.pass_time(0.05)
            self.assertLess(reader.stream.waiting_bytes, 100_000)
            reader.stream.resumeProducing()
            if reader.stream.ended:
                break
        self.assertEqual(len(reader.texts), 50)
        self.assertGreater(views.asked, 0)

    def test_client_goes(self) -> None:
        """Nothing is read for a client that has gone."""
        self.write(0, *[b"x" * 100] * 100)
        reader = self.reader("/messages", count=1000)
        reader.stream.pauseProducing()
        reader.stream.gone()
        views: Any = self.console.parts.views
        asked = views.asked
        self.pass_time(5)
        self.assertEqual(views.asked, asked)
        self.assertEqual(len(self.console.parts.streams), 0)
