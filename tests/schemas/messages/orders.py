"""Protobuf messages for tests: the descriptor of a file, and classes made from it."""

from __future__ import annotations

from typing import Any

from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass

TEXT = """syntax = "proto3";
package acme;

message Order {
  int64 id = 1;
  string item = 2;
  repeated Line lines = 3;

  message Line {
    string name = 1;
    bytes raw = 2;
  }
}

message Other {
  int32 number = 1;
}
"""


def _field(name: str, number: int, kind: int, repeated: bool = False, of: str = "") -> FieldDescriptorProto:
    label = FieldDescriptorProto.LABEL_REPEATED if repeated else FieldDescriptorProto.LABEL_OPTIONAL
    made = FieldDescriptorProto(name=name, number=number, type=kind, label=label)  # type: ignore[arg-type]
    if of:
        made.type_name = of
    return made


def file() -> FileDescriptorProto:
    """Return the descriptor of :data:`TEXT`."""
    field = FieldDescriptorProto
    line = DescriptorProto(
        name="Line", field=[_field("name", 1, field.TYPE_STRING), _field("raw", 2, field.TYPE_BYTES)]
    )
    order = DescriptorProto(
        name="Order",
        field=[
            _field("id", 1, field.TYPE_INT64),
            _field("item", 2, field.TYPE_STRING),
            _field("lines", 3, field.TYPE_MESSAGE, True, ".acme.Order.Line"),
        ],
        nested_type=[line],
    )
    other = DescriptorProto(name="Other", field=[_field("number", 1, field.TYPE_INT32)])
    return FileDescriptorProto(
        name="orders.proto", package="acme", syntax="proto3", message_type=[order, other]
    )


def classes() -> tuple[Any, Any, Any]:
    """Return the classes Order, Order.Line and Other."""
    pool: Any = DescriptorPool()
    pool.Add(file())
    names = ("acme.Order", "acme.Order.Line", "acme.Other")
    order, line, other = (GetMessageClass(pool.FindMessageTypeByName(name)) for name in names)
    return order, line, other


def importing_class() -> Any:
    """Return the class of a message that has one of another file."""
    pool: Any = DescriptorPool()
    pool.Add(file())
    fields = [_field("order", 1, FieldDescriptorProto.TYPE_MESSAGE, of=".acme.Order")]
    pool.Add(
        FileDescriptorProto(
            name="basket.proto",
            package="acme",
            syntax="proto3",
            dependency=["orders.proto"],
            message_type=[DescriptorProto(name="Basket", field=fields)],
        )
    )
    return GetMessageClass(pool.FindMessageTypeByName("acme.Basket"))
