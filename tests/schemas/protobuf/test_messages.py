"""Descriptors and places of messages, for encoders and decoders."""

from __future__ import annotations

import base64

from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.schemas.protobuf.messages import UnknownMessage, file_descriptors, message_indexes, message_name
from tests.schemas.protobuf.documents import parsed

TEXT = """
syntax = "proto3"; package shop;
import "google/protobuf/timestamp.proto";
import "line.proto";
message First {}
message Order {
  map<string, int32> counts = 1;
  message A {} message B { message C { string x = 1; } }
  google.protobuf.Timestamp at = 2;
  Line line = 3;
}
"""
LINE = 'syntax = "proto3"; package shop; message Line { int32 amount = 1; }'


class MessagesTests(SynchronousTestCase):
    def test_places(self) -> None:
        """A message is found by its place, and its place by its name."""
        schema = parsed(TEXT, {"line.proto": LINE})
        for name, indexes in [
            ("shop.First", (0,)),
            ("shop.Order", (1,)),
            ("shop.Order.A", (1, 0)),
            ("shop.Order.B.C", (1, 1, 0)),
        ]:
            self.assertEqual(message_indexes(schema, name), indexes)
            self.assertEqual(message_name(schema, indexes), name)
        plain = parsed('syntax = "proto3"; message A { message B {} }')
        self.assertEqual(message_name(plain, (0, 0)), "A.B")
        self.assertEqual(message_indexes(plain, "A.B"), (0, 0))

    def test_entries(self) -> None:
        """Entries of maps count in a descriptor, in its order, and in a text that has them as messages."""
        text = 'syntax = "proto3"; message A { message B {} map<string, int32> m = 1; message C {} }'
        sugar = parsed(text)
        self.assertEqual([message_indexes(sugar, f"A.{name}") for name in "BC"], [(0, 0), (0, 1)])
        sent = parsed(base64.b64encode(sugar.file.SerializeToString()).decode())
        self.assertEqual(
            [message_indexes(sent, f"A.{name}") for name in ("B", "MEntry", "C")], [(0, 0), (0, 1), (0, 2)]
        )
        self.assertEqual(sent.canonical, sugar.canonical)
        entry = "message MEntry { option map_entry = true; string key = 1; int32 value = 2; }"
        written = parsed(
            f'syntax = "proto3"; message A {{ repeated MEntry m = 1; {entry} message B {{}} message C {{}} }}'
        )
        self.assertEqual(message_indexes(written, "A.C"), (0, 2))
        self.assertEqual(written.canonical, sugar.canonical)

    def test_unknown(self) -> None:
        """Names and places of no message are refused."""
        schema = parsed(TEXT, {"line.proto": LINE})
        for name in ("shop.Line", "Order", "shop.Order.CountsEntry", "shop", ""):
            self.assertRaises(UnknownMessage, message_indexes, schema, name)
        for indexes in ((), (2,), (-1,), (1, 2), (0, 0)):
            self.assertRaises(UnknownMessage, message_name, schema, indexes)

    def test_descriptors(self) -> None:
        """A pool takes the files in their order, and its classes encode and decode."""
        pool = DescriptorPool()
        for file in file_descriptors(parsed(TEXT, {"line.proto": LINE})):
            pool.Add(file)
        order = GetMessageClass(pool.FindMessageTypeByName("shop.Order"))
        data = order(counts={"a": 1}, line={"amount": 5}).SerializeToString()
        self.assertEqual(str(order.FromString(data).ListFields()[1][1]), "amount: 5\n")
