"""Tests of how messages are declared and constructed."""

from __future__ import annotations

import copy
import pickle

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.wire.messages.create_topics import CreatableTopicResult
from kafkatx.wire.messages.fetch import FetchRequest, PartitionData
from kafkatx.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from kafkatx.wire.schema import INT16, NULL_UUID, STRING, Struct, array, field, nullable


class Inner(Struct):
    """A struct inside another."""

    number: int = field(INT16, default=7)


class Outer(Struct):
    """A struct with each kind of default."""

    name: str = field(STRING)
    maybe: str | None = field(nullable(STRING))
    numbers: list[int] = field(array(INT16))
    nullable_numbers: list[int] | None = field(nullable(array(INT16)))
    inner: Inner = field(Inner)
    tagged: Inner | None = field(Inner, tag=0)


class StructTests(SynchronousTestCase):
    """Construction, equality and repr of structs."""

    def test_positional_and_keyword(self) -> None:
        """Arguments by position and by keyword, in field order, make the same struct."""
        by_position = ProduceRequest(None, 1, 500, [])
        by_keyword = ProduceRequest(topic_data=[], timeout_ms=500, acks=1, transactional_id=None)
        self.assertEqual(by_position, by_keyword)
        self.assertEqual((by_position.acks, by_position.timeout_ms), (1, 500))

    def test_defaults(self) -> None:
        """An unset field has its default, or its type's; nullable strings and tagged structs have None."""
        outer = Outer()
        self.assertEqual(
            (outer.name, outer.maybe, outer.numbers, outer.nullable_numbers, outer.inner, outer.tagged),
            ("", None, [], [], Inner(7), None),
        )
        self.assertEqual(FetchRequest().max_bytes, 0x7FFFFFFF)
        self.assertEqual(CreatableTopicResult().topic_id, NULL_UUID)

    def test_defaults_are_not_shared(self) -> None:
        """Each struct gets lists and structs of its own."""
        one, other = Outer(), Outer()
        one.numbers.append(1)
        one.inner.number = 8
        self.assertEqual((other.numbers, other.inner.number), ([], 7))

    def test_unknown_and_surplus_arguments(self) -> None:
        """A name that is no field, and an argument too many, are TypeErrors."""
        self.assertRaises(TypeError, Inner, nonsense=1)
        self.assertRaises(TypeError, Inner, 1, 2)

    def test_slots(self) -> None:
        """No attribute can be set that was not declared, and there is no dictionary."""
        with self.assertRaises(AttributeError):
            Inner().nonsense = 1  # type: ignore[attr-defined]  # that is the point
        self.assertFalse(hasattr(Inner(), "__dict__"))

    def test_equality(self) -> None:
        """Structs are equal if they are of one class and all fields are; they are not hashable."""
        self.assertEqual(Inner(3), Inner(3))
        self.assertNotEqual(Inner(3), Inner(4))
        self.assertNotEqual(Outer(), Inner())
        self.assertRaises(TypeError, hash, Inner())

    def test_repr_shows_no_payload(self) -> None:
        """The repr names every field, but of records it tells the length alone."""
        request = ProduceRequest(topic_data=[TopicProduceData("t", [PartitionProduceData(3, b"secret")])])
        self.assertIn("PartitionProduceData(index=3, records=<6 bytes>)", repr(request))
        self.assertNotIn("secret", repr(request))
        self.assertIn("records=None", repr(PartitionData()))

    def test_copy_and_pickle(self) -> None:
        """Structs can be copied and pickled."""
        outer = Outer("name", None, [1], None, Inner(2), Inner(3))
        self.assertEqual(copy.deepcopy(outer), outer)
        self.assertEqual(pickle.loads(pickle.dumps(outer)), outer)


class FieldTests(SynchronousTestCase):
    """In which versions a field stands, and how."""

    def test_versions(self) -> None:
        """``since`` and ``until`` are inclusive."""
        f = field(INT16, since=2, until=4)
        self.assertEqual([f.exists_in(version) for version in range(1, 6)], [False, True, True, True, False])

    def test_nullable_since(self) -> None:
        """A nullable type is its plain type in versions that allow no null."""
        kind = nullable(STRING)
        f = field(kind, nullable_since=3)
        self.assertEqual([f.type_in(2), f.type_in(3)], [STRING, kind])

    def test_tag_since(self) -> None:
        """A field may be an ordinary one before it becomes a tagged one."""
        f = field(INT16, since=1, tag=0, tag_since=3)
        self.assertEqual([f.tagged_in(version) for version in (0, 2, 3)], [False, False, True])
