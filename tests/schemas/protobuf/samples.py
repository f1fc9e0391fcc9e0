"""Texts that use all of Protobuf's grammar."""

from __future__ import annotations

from typing import Final

PROTO3: Final = """
// A comment.
syntax = "proto3"; /* another
one */
package shop.v1;
import "google/protobuf/timestamp.proto";
import public "google/protobuf/any.proto";
option java_package = "shop" ".v1";
option optimize_for = SPEED;
option deprecated = true;
;
message Order {
  option deprecated = false;
  string id = 1 [json_name = "ID", deprecated = true];
  optional int32 count = 2;
  repeated sint64 sums = 0x3 [packed = false];
  map<string, Line> lines = 4;
  map<int32, bytes> other_things = 5;
  oneof payment { Card card = 6; string voucher = 7; }
  google.protobuf.Timestamp at = 8;
  .shop.v1.Order.State state = 9;
  Order parent = 10;
  optional string _note = 11;
  double message = 12;
  float enum = 13;
  bool reserved = 14;
  fixed32 oneof = 017;
  Line.Inner inner = 16;
  reserved 100, 200 to 210, 1000 to max;
  reserved "old", "older";
  enum State {
    option allow_alias = true;
    NEW = 0; FRESH = 0; DONE = 1 [deprecated = true]; NEGATIVE = -1;
    reserved 5 to 9;
    reserved "X";
  }
  message Card { string number = 1; }
}
message Line {
  message Inner { sfixed64 a = 1; }
  uint64 amount = 1; fixed64 b = 2; sfixed32 c = 3; uint32 d = 4; sint32 e = 5; int64 f = 6;
};
enum Colour { RED = 0; }
service Shop {
  option deprecated = true;
  rpc Get(Order) returns (Line);
  rpc Watch(stream Order) returns (stream .shop.v1.Line) { option idempotency_level = IDEMPOTENT; }
}
"""

PROTO2: Final = r"""
message Order {
  required string id = 1 [default = "a\n\"\x41\101'\u00fc"];
  optional int32 whole = 2 [default = -7];
  optional double part = 3 [default = 1.5e3];
  optional float endless = 4 [default = -inf];
  optional bool flag = 5 [default = true];
  optional bytes raw = 6 [default = "\000\xff\\'\"\t"];
  optional State state = 7 [default = DONE];
  repeated group Item = 8 { required uint64 size = 1 [default = 0x10]; optional Item again = 2; }
  optional double small = 9 [default = 0.25];
  optional double none = 10 [default = nan];
  optional float whole_float = 11 [default = 3];
  oneof choice { string a = 12; group Many = 13 { optional string x = 1; } }
  extensions 100 to 199, 500;
  extensions 1000 to max;
  enum State { NEW = 0; DONE = 0x7; }
  extend Order { optional string inside = 100; }
}
extend Order {
  optional int32 more = 150 [deprecated = false];
  repeated group Grown = 151 { optional int32 g = 1; }
}
"""

PLAIN_PROTO2: Final = """
syntax = "proto2";
package a.b.c;
message B { optional b.c.B self = 1; optional C other = 2; }
message C {}
"""

EDITION: Final = """
edition = "2023";
option features.field_presence = IMPLICIT;
message Order {
  int32 a = 1;
  string b = 2 [features.field_presence = EXPLICIT];
  repeated int32 c = 3 [features.repeated_field_encoding = EXPANDED];
  reserved old, older;
}
enum State { option features.enum_type = CLOSED; X = 1; }
"""

CUSTOM: Final = """
syntax = "proto3";
import "confluent/meta.proto";
option (confluent.file_meta) = { doc: "a file" };
message Order {
  option (confluent.message_meta).doc = "a message";
  string id = 1 [
    (confluent.field_meta) = { doc: "it's", params: [{ key: "k", value: "v" }] },
    (mine) = -1, (a.b) = 0.5, (c) = X
  ];
}
"""

SAMPLES: Final = (PROTO3, PROTO2, PLAIN_PROTO2, EDITION)
"""Texts that protoc takes without other files."""
