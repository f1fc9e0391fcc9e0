"""Tests of kafkatx.schemas.messages.protobuf.message_classes."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.schemas.messages.protobuf.message_classes import MessageClasses, message_indexes
from kafkatx.schemas.types import InvalidSchema, Schema, SchemaType
from tests.schemas.messages.orders import TEXT, classes


class MessageClassesTests(SynchronousTestCase):
    def classes(self, text: str, **dependencies: str) -> MessageClasses:
        """Return the classes of a text."""
        others = {name: Schema(other, SchemaType.PROTOBUF) for name, other in dependencies.items()}
        return MessageClasses(Schema(text, SchemaType.PROTOBUF), others)

    def test_indexes(self) -> None:
        """Each message has a class, found by its indexes; they are those of classes that protoc makes."""
        made = self.classes(TEXT)
        self.assertEqual(made.first_name, "acme.Order")
        for kind in classes():
            path = message_indexes(kind.DESCRIPTOR)
            self.assertEqual(made.at(path).DESCRIPTOR.full_name, kind.DESCRIPTOR.full_name)
        for path in ((2,), (0, 1), (1, 0), ()):
            self.assertRaises(InvalidSchema, made.at, path)

    def test_imports(self) -> None:
        """Messages may have those of other files, and Google's own."""
        text = (
            'syntax = "proto3"; import "a"; import "google/protobuf/timestamp.proto";'
            " message B { acme.Order order = 1; google.protobuf.Timestamp at = 2; }"
        )
        message = self.classes(text, a=TEXT).at((0,))(order={"id": 5})
        message.at.seconds = 7
        again = type(message)()
        again.ParseFromString(message.SerializeToString())
        self.assertEqual((again.order.id, again.at.seconds), (5, 7))
        self.assertRaises(InvalidSchema, self.classes, text)

    def test_invalid(self) -> None:
        """Texts that are no schemas are refused."""
        for text in ("", "message", 'syntax = "proto3"; message A { Unknown x = 1; }'):
            self.assertRaises(InvalidSchema, self.classes, text)
