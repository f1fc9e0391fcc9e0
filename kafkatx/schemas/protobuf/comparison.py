"""The comparison of two Protobuf schemas: the old one, of the writer, and the new one, of the reader. Pure.

The verdicts are those of Confluent's registry: fields are matched by number; types may change within a group
that is written in the same way; fields that exclude each other must have done so before; messages stay.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, TypeAlias

import attrs
from google.protobuf import descriptor_pb2 as pb

from kafkatx.schemas.limits import MAX_REASONS
from kafkatx.schemas.places import below
from kafkatx.schemas.protobuf.types_index import NamedType
from kafkatx.schemas.recursion import TooManySteps, Walk, run

Field: TypeAlias = pb.FieldDescriptorProto
Reasons: TypeAlias = Sequence[str]

_GROUPS: Final = {
    **dict.fromkeys(
        (Field.TYPE_INT32, Field.TYPE_INT64, Field.TYPE_UINT32, Field.TYPE_UINT64, Field.TYPE_BOOL),
        "whole number",
    ),
    Field.TYPE_ENUM: "whole number",
    **dict.fromkeys((Field.TYPE_SINT32, Field.TYPE_SINT64), "zigzag number"),
    **dict.fromkeys((Field.TYPE_STRING, Field.TYPE_BYTES), "string or bytes"),
    **dict.fromkeys((Field.TYPE_FIXED32, Field.TYPE_SFIXED32), "fixed number of 32 bits"),
    **dict.fromkeys((Field.TYPE_FIXED64, Field.TYPE_SFIXED64), "fixed number of 64 bits"),
    Field.TYPE_FLOAT: "float",
    Field.TYPE_DOUBLE: "double",
}
"""The types of one group are written in the same way."""


@attrs.frozen(eq=False)
class Side:
    """One of the two schemas."""

    file: pb.FileDescriptorProto
    types: Mapping[str, NamedType]

    def message(self, field: Field) -> tuple[str, NamedType]:
        """Return the message of a field: its name without its package, and itself."""
        full = field.type_name.lstrip(".")
        found = self.types[full]
        return full.removeprefix(f"{found.package}.") if found.package else full, found

    def entry(self, field: Field) -> pb.DescriptorProto | None:
        """Return the message of a map's entries; None if the field is no map."""
        if field.type != Field.TYPE_MESSAGE:
            return None
        descriptor = self.types[field.type_name.lstrip(".")].descriptor
        if isinstance(descriptor, pb.DescriptorProto) and descriptor.options.map_entry:
            return descriptor
        return None


@attrs.frozen
class Labels:
    """The kinds of two files: True for proto2, where a field always has a label."""

    old_always: bool
    new_always: bool


def incompatibilities(
    reader: tuple[pb.FileDescriptorProto, Mapping[str, NamedType]],
    writer: tuple[pb.FileDescriptorProto, Mapping[str, NamedType]],
) -> Reasons:
    """Return why *reader* cannot read data of *writer*, at most ``MAX_REASONS`` times."""
    comparison = _Comparison(Side(*writer), Side(*reader))
    try:
        return run(comparison.files())[:MAX_REASONS]
    except TooManySteps:
        return ["the schemas are too large to compare"]


def message_incompatibilities(
    reader: Mapping[str, NamedType], writer: Mapping[str, NamedType], name: str
) -> Reasons:
    """Return why a message of *reader* cannot read data of the one of the same full name in *writer*.

    What the message uses is compared with it, and the rest of the files is not.
    """
    no_file = pb.FileDescriptorProto()
    comparison = _Comparison(Side(no_file, writer), Side(no_file, reader))
    try:
        return run(comparison.message(name))[:MAX_REASONS]
    except TooManySteps:
        return ["the schemas are too large to compare"]


class _Comparison:
    """One comparison: the pairs of messages of other files that are known or under way."""

    def __init__(self, old: Side, new: Side) -> None:
        self._old = old
        self._new = new
        self._known: dict[tuple[str, str], Reasons] = {}

    def files(self) -> Walk[Reasons]:
        """Return the reasons of the two files."""
        old, new = self._old.file, self._new.file
        found: list[str] = []
        if old.package != new.package:
            found.append(
                f"PACKAGE_CHANGED at /: the reader's package is {new.package!r}, the writer's {old.package!r}"
            )
        labels = Labels(not old.syntax, not new.syntax)
        found.extend((yield self._messages(old.message_type, new.message_type, "", labels)))
        return found

    def message(self, name: str) -> Walk[Reasons]:
        """Return the reasons of one message by its full name, and of what it uses."""
        old, new = self._old.types[name], self._new.types[name]
        local = name.removeprefix(f"{new.package}.") if new.package else name
        return (yield self._foreign(old, new, local))

    def _messages(
        self, old: Sequence[pb.DescriptorProto], new: Sequence[pb.DescriptorProto], where: str, labels: Labels
    ) -> Walk[Reasons]:
        """Return the reasons of messages by name; entries of maps are compared with their fields."""
        found: list[str] = []
        now = {message.name: message for message in new}
        for message in old:
            place = below(where, message.name)
            if message.options.map_entry:
                continue
            if message.name in now:
                found.extend((yield self._message(message, now[message.name], place, labels)))
            else:
                found.append(f"MESSAGE_REMOVED at {place}: the reader has no message of this name")
            del found[MAX_REASONS:]
        return found

    def _message(
        self, old: pb.DescriptorProto, new: pb.DescriptorProto, where: str, labels: Labels
    ) -> Walk[Reasons]:
        found = [*_oneof_reasons(old, new, where), *_presence_reasons(old, new, where)]
        now = {field.number: field for field in new.field}
        for field in old.field:
            if field.number in now:
                found.extend(
                    (yield self._field(field, now[field.number], below(where, field.number), labels))
                )
                del found[MAX_REASONS:]
        found.extend((yield self._messages(old.nested_type, new.nested_type, where, labels)))
        return found

    def _field(self, old: Field, new: Field, where: str, labels: Labels) -> Walk[Reasons]:
        entries = self._old.entry(old), self._new.entry(new)
        kinds = _kind(old, entries[0]), _kind(new, entries[1])
        if kinds[0] != kinds[1]:
            return (f"FIELD_KIND_CHANGED at {where}: the reader has a {kinds[1]}, the writer a {kinds[0]}",)
        if entries[0] is not None and entries[1] is not None:
            found: list[str] = []
            for part, other in zip(entries[0].field, entries[1].field, strict=False):
                found.extend((yield self._field(part, other, where, labels)))
            return found
        if kinds[0] == "message":
            return (yield self._message_field(old, new, where))
        return _scalar_reasons(old, new, where, labels)

    def _message_field(self, old: Field, new: Field, where: str) -> Walk[Reasons]:
        """Return the reasons of a field's message: its name, and its parts if it is of another file."""
        (before, one), (name, other) = self._old.message(old), self._new.message(new)
        if before != name:
            names = f"the reader's message is {name}, the writer's {before}"
            return (f"FIELD_NAMED_TYPE_CHANGED at {where}: {names}",)
        if one.file is self._old.file and other.file is self._new.file:
            return ()
        reasons = yield self._foreign(one, other, name)
        if not reasons:
            return ()
        return [*reasons, f"FIELD_NAMED_TYPE_CHANGED at {where}: the message {name} has changed"]

    def _foreign(self, old: NamedType, new: NamedType, name: str) -> Walk[Reasons]:
        """Return the reasons of two messages at least one of which is imported."""
        key = (f"{old.package}/{name}", f"{new.package}/{name}")
        if key not in self._known:
            self._known[key] = ()
            before, now = old.descriptor, new.descriptor
            if isinstance(before, pb.DescriptorProto) and isinstance(now, pb.DescriptorProto):
                place = below("", *name.split("."))
                labels = Labels(not old.file.syntax, not new.file.syntax)
                self._known[key] = yield self._message(before, now, place, labels)
        return self._known[key]


def _kind(field: Field, entry: pb.DescriptorProto | None) -> str:
    if entry is not None:
        return "map"
    return "message" if field.type in (Field.TYPE_MESSAGE, Field.TYPE_GROUP) else "scalar"


def _scalar_reasons(old: Field, new: Field, where: str, labels: Labels) -> Reasons:
    before, now = _GROUPS[old.type], _GROUPS[new.type]
    if before != now:
        return (f"FIELD_SCALAR_KIND_CHANGED at {where}: the reader has a {now}, the writer a {before}",)
    label, was = _label(new, labels.new_always), _label(old, labels.old_always)
    if label and was and label != was and now != "string or bytes":
        numbers = f"the reader has a {label} number, the writer a {was} one"
        return (f"FIELD_NUMERIC_LABEL_CHANGED at {where}: {numbers}",)
    return ()


def _label(field: Field, always: bool) -> str:
    """Return the label as it is written; empty where it is left out.

    :param always: True for proto2, which leaves it out in oneofs only.
    """
    if field.label == Field.LABEL_OPTIONAL:
        left_out = field.HasField("oneof_index") or not always
        return "" if left_out and not field.proto3_optional else "optional"
    return "repeated" if field.label == Field.LABEL_REPEATED else "required"


def _oneof_reasons(old: pb.DescriptorProto, new: pb.DescriptorProto, where: str) -> Iterator[str]:
    """Yield a reason for each oneof of the reader whose fields could be set together before."""
    before, numbers = _oneofs(old), {field.number for field in old.field}
    members: dict[str, list[int]] = {}
    for number, name in _oneofs(new).items():
        members.setdefault(name, []).append(number)
    for name, fields in members.items():
        known = [number for number in fields if number in numbers]
        if len({before.get(number, number) for number in known}) < 2:
            continue
        moved = sum(number not in before for number in known)
        change = "MULTIPLE_FIELDS_MOVED_TO_ONEOF" if moved > 1 else "FIELD_MOVED_TO_EXISTING_ONEOF"
        yield f"{change} at {below(where, name)}: fields of this oneof could be set together by the writer"


def _oneofs(message: pb.DescriptorProto) -> dict[int, str]:
    """Return the names of the oneofs of fields by number; those of optional fields are none."""
    return {
        field.number: message.oneof_decl[field.oneof_index].name
        for field in message.field
        if field.HasField("oneof_index") and not field.proto3_optional
    }


def _presence_reasons(old: pb.DescriptorProto, new: pb.DescriptorProto, where: str) -> Iterator[str]:
    """Yield the reasons of fields that only one of two messages has."""
    before, now = ({field.number: field for field in message.field} for message in (old, new))
    oneofs = _oneofs(old)
    kept = {oneofs[number] for number in oneofs if number in now} | set(_oneofs(new).values())
    for number, field in before.items():
        if number in now:
            continue
        if oneofs.get(number) in kept:
            place = below(where, oneofs[number], number)
            yield f"ONEOF_FIELD_REMOVED at {place}: the reader's oneof has no field {field.name}"
        elif field.label == Field.LABEL_REQUIRED:
            place = below(where, number)
            yield f"REQUIRED_FIELD_REMOVED at {place}: the writer requires the field {field.name}"
    for number, field in now.items():
        if number not in before and field.label == Field.LABEL_REQUIRED:
            place = below(where, number)
            yield f"REQUIRED_FIELD_ADDED at {place}: the reader requires the field {field.name}"
