"""Steps of scans."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.records.header import CRC_AT
from kafkatx.schemas import framing
from kafkatx.schemas.types import SchemaType
from kafkatx.views.formats.masks import Masks
from kafkatx.views.formats.registered import Schemas
from kafkatx.views.requests import StepRequest, StepResult, ViewRequest
from kafkatx.views.seen import View
from kafkatx.views.step import SOFT_S, Step
from tests.views.formats.test_registered import described, message
from tests.views.test_rows import batch, marker

NUMBERS = batch(0, [b'{"n": %d}' % n for n in range(50)]) + batch(
    50, [b'{"n": %d}' % n for n in range(50, 100)]
)


class StepCase(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a store of schemas, and a clock that stands."""
        self.schemas = Schemas()
        self.seconds: Callable[[], float] = lambda: 0.0

    def step(self, data: bytes, view: ViewRequest | None = None, **more: Any) -> StepResult:
        """Perform a step over everything."""
        view = view or ViewRequest("t")
        numbers = {"partition": 3, "position": 0, "until": 1000, "stable": 1000, **more}
        request = StepRequest(view, **numbers)
        return Step(request, View.of(view, self.schemas), self.schemas, self.seconds).take(data)

    def numbers(self, result: StepResult) -> list[int]:
        """Return the numbers in the records that were found."""
        return [json.loads(json.loads(one.data)["value"]["text"])["n"] for one in result.found]


class FilterTests(StepCase):
    def test_record(self) -> None:
        """A record is shown with all that is known of it."""
        (found,) = self.step(batch(7, [b"a"])).found
        self.assertEqual((found.offset, found.timestamp), (7, 7))
        text = {"format": "text", "truncated": False}
        self.assertEqual(
            json.loads(found.data),
            {
                "partition": 3,
                "offset": "7",
                "timestampMs": 7,
                "timestampType": "create",
                "key": {"format": "null", "text": None, "size": -1, "truncated": False},
                "value": {**text, "text": "a", "size": 1},
                "headers": [{"key": "h", "value": {**text, "text": "1", "size": 1}}],
                "transactional": None,
                "control": None,
                "schema": None,
            },
        )

    def test_first(self) -> None:
        """The first records that fit are found, and the step says where to go on."""
        result = self.step(NUMBERS, ViewRequest("t", "value.n % 7 == 0"), most=3)
        self.assertEqual(self.numbers(result), [0, 7, 14])
        self.assertEqual((result.position, result.scanned, result.matched), (15, 15, 3))
        self.assertEqual((result.first_timestamp, result.last_timestamp), (0, 14))
        self.assertEqual(result.scanned_bytes, round(len(NUMBERS) * 15 / 100))
        result = self.step(NUMBERS, ViewRequest("t", "value.n % 7 == 0"), position=90)
        self.assertEqual(self.numbers(result), [91, 98])
        self.assertEqual((result.position, result.scanned_bytes), (100, len(NUMBERS)))

    def test_last(self) -> None:
        """The last records that fit are found, in order."""
        result = self.step(NUMBERS, ViewRequest("t", "value.n % 7 == 0"), most=3, keeps_last=True, until=95)
        self.assertEqual(self.numbers(result), [77, 84, 91])
        self.assertEqual((result.position, result.matched, result.left_out), (95, 14, False))

    def test_room(self) -> None:
        """The answer is bounded: of the last records the oldest are left out."""
        result = self.step(NUMBERS, most_bytes=1000)
        self.assertLess(len(result.found), 10)
        self.assertEqual(result.position, len(result.found))
        result = self.step(NUMBERS, most_bytes=1000, keeps_last=True)
        self.assertTrue(result.left_out)
        self.assertEqual(self.numbers(result)[-1], 99)
        self.assertEqual(result.position, 100)

    def test_time(self) -> None:
        """A step that takes long ends early, and has done something."""
        times = iter(range(1000))
        self.seconds = lambda: next(times) * SOFT_S / 2
        result = self.step(NUMBERS)
        self.assertEqual((result.position, result.scanned), (2, 2))
        self.seconds = iter([0.0, *[9.0] * 100]).__next__
        self.assertEqual(self.step(NUMBERS).position, 1)

    def test_names(self) -> None:
        """A filter sees headers, offsets, partitions and times; keys are decoded if it asks for them."""
        for text, count in (
            ("headers.h == '1'", 2),
            ("offset == 1", 1),
            ("partition == 3 and timestamp == 0", 1),
            ("key is null", 2),
            ("value == 'b'", 1),
        ):
            result = self.step(batch(0, [b"a", b"b"]), ViewRequest("t", text, value_format="text"))
            self.assertEqual(result.matched, count, text)

    def test_faults(self) -> None:
        """A record whose filtering fails is counted and left out, and the first reason is told."""
        deep = b'{"a":' * 900 + b"1" + b"}" * 900
        view = ViewRequest("t", "value == [value] or str(value) == 'x' or true")
        result = self.step(batch(0, [deep, b'{"a":1}', deep]), view)
        self.assertEqual((result.matched + result.faults, result.scanned), (3, 3))
        if result.faults:
            self.assertIn("partition 3, offset 0: RecursionError", result.first_fault)

    def test_not_shown(self) -> None:
        """A record that cannot be shown, because of its depth, is there without its contents."""
        deep = b'{"a":' * 900 + b"1" + b"}" * 900
        masks = Masks(value=(("b",),))
        result = self.step(batch(0, [deep, b'{"b":1}']), ViewRequest("t", masks=masks))
        self.assertEqual(len(result.found), 2)
        self.assertIn(json.loads(result.found[0].data)["value"]["format"], ("hidden", "json", "masked"))
        self.assertEqual(json.loads(result.found[1].data)["value"]["text"], '{"b":"***"}')


class SpecialTests(StepCase):
    def test_markers(self) -> None:
        """Markers are shown unless there is a filter, which is about records."""
        data = batch(0, [b"a"], 1, True) + marker(1, 1, True)
        self.assertEqual([json.loads(one.data)["control"] for one in self.step(data).found], [None, "commit"])
        self.assertEqual(self.step(data, ViewRequest("t", "true")).matched, 1)

    def test_committed_only(self) -> None:
        """Records of aborted and open transactions are shown as such, or left out."""
        data = batch(0, [b"a"], 1, True) + marker(1, 1, False) + batch(2, [b"b"], 1, True) + batch(3, [b"c"])
        more: dict[str, Any] = {"aborted": ((1, 0),), "stable": 2}
        shown = [json.loads(one.data)["transactional"] for one in self.step(data, **more).found]
        self.assertEqual(shown, ["aborted", None, "open", None])
        self.assertEqual(self.step(data, ViewRequest("t", "true"), committed_only=True, **more).matched, 1)

    def test_damage(self) -> None:
        """A damaged batch is shown; where batches cannot be told apart any more the step ends and says so."""
        broken = bytearray(batch(1, [b"b"]))
        broken[CRC_AT] ^= 1
        result = self.step(batch(0, [b"a"]) + bytes(broken) + batch(2, [b"c"]))
        self.assertIn("CRC", json.loads(result.found[1].data)["fault"])
        self.assertEqual((result.position, result.damage), (3, ""))
        result = self.step(batch(0, [b"a"]) + b"\xff" * 100)
        self.assertIn("a batch of magic", result.damage)

    def test_metadata(self) -> None:
        """With metadata alone sizes are shown, and no key, value or header; not to filters either."""
        result = self.step(batch(0, [b"secret"]), ViewRequest("t", "value != 'secret'", metadata_only=True))
        shown = json.loads(result.found[0].data)
        self.assertEqual(shown["value"], {"format": "hidden", "text": None, "size": 6, "truncated": False})
        self.assertEqual((shown["key"]["format"], shown["headers"]), ("null", []))
        self.assertNotIn(b"secret", result.found[0].data)

    def test_headers(self) -> None:
        """Headers are masked by name, and a filter does not see what is masked."""
        view = ViewRequest("t", "headers.h == '1'", masks=Masks(headers=(("h",),)))
        self.assertEqual(self.step(batch(0, [b"a"]), view).matched, 0)
        view = ViewRequest("t", masks=Masks(headers=(("h",),)))
        shown = json.loads(self.step(batch(0, [b"a"]), view).found[0].data)
        self.assertEqual(shown["headers"][0]["value"]["text"], "***")

    def test_schemas(self) -> None:
        """A step names all schemas that it needs, and finds everything when it is repeated with them."""
        data = batch(0, [message(SchemaType.AVRO, {"id": n, "who": "a"}, n) for n in (1, 2)])
        view = ViewRequest("t", "value.id >= 1")
        result = self.step(data, view)
        self.assertEqual((result.missing, result.found, result.position), (("id:1", "id:2"), [], 0))
        self.schemas.take({"id:1": described(SchemaType.AVRO, 1), "id:2": {"error": "Schema 2 not found"}})
        result = self.step(data, ViewRequest("t"))
        first, second = (json.loads(one.data) for one in result.found)
        self.assertEqual((first["value"]["text"], first["schema"]["id"]), ('{"id":1,"who":"a"}', 1))
        self.assertEqual(second["value"]["fault"], "schema 2: Schema 2 not found")
        self.assertEqual(self.step(data, view).matched, 1)

    def test_no_schema_needed(self) -> None:
        """No schema is asked for if the filter leaves the record out without it."""
        self.assertEqual(self.step(batch(0, [framing.prefix(5)]), ViewRequest("t", "offset > 3")).missing, ())
