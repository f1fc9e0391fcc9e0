"""Options of a .proto file: those that Protobuf itself knows are set, others are kept as they are. Pure."""

from __future__ import annotations

from typing import TypeAlias

from google.protobuf import descriptor_pb2 as pb
from google.protobuf.descriptor import FieldDescriptor

from kafkatx.schemas.protobuf.lexer import Token, invalid
from kafkatx.schemas.protobuf.reader import Reader, parse_whole

Options: TypeAlias = (
    pb.FileOptions
    | pb.MessageOptions
    | pb.FieldOptions
    | pb.OneofOptions
    | pb.EnumOptions
    | pb.EnumValueOptions
    | pb.ServiceOptions
    | pb.MethodOptions
    | pb.ExtensionRangeOptions
)

_FLAGS = {"true": True, "false": False}


def read_option(reader: Reader, options: Options) -> None:
    """Read ``name = value``, and set it in *options*."""
    line = reader.token.line
    option = pb.UninterpretedOption()
    _read_name(reader, option)
    reader.expect("=")
    _read_value(reader, option)
    names = [part.name_part for part in option.name]
    known = _find(options, names) if not any(part.is_extension for part in option.name) else None
    if known is None:
        options.uninterpreted_option.append(option)
    elif not _set(known[0], known[1], option):
        raise invalid(line, f"the option {'.'.join(names)} has a value that it may not have")


def read_option_list(reader: Reader, options: Options) -> None:
    """Read options in brackets, if there are any."""
    if not reader.accept("["):
        return
    read_option(reader, options)
    while reader.accept(","):
        read_option(reader, options)
    reader.expect("]")


def _read_name(reader: Reader, option: pb.UninterpretedOption) -> None:
    while True:
        if reader.accept("("):
            option.name.add(name_part=reader.full_name(), is_extension=True)
            reader.expect(")")
        else:
            option.name.add(name_part=reader.name(), is_extension=False)
        if not reader.accept("."):
            return


def _read_value(reader: Reader, option: pb.UninterpretedOption) -> None:
    if reader.accept("{"):
        option.aggregate_value = " ".join(_aggregate(reader))
        return
    if reader.token.kind == "text":
        option.string_value = reader.text()
        return
    sign = -1 if reader.accept("-") else 1
    token = reader.take()
    if token.kind == "name" and sign > 0:
        option.identifier_value = token.text
    elif (whole := parse_whole(token.text)) is not None and whole < 2**63:
        if sign > 0:
            option.positive_int_value = whole
        else:
            option.negative_int_value = -whole
    else:
        option.double_value = sign * read_float(token)


def _aggregate(reader: Reader) -> list[str]:
    """Return the words of a value in braces, up to its closing one."""
    words: list[str] = []
    reader.enter()
    depth = 1
    while True:
        token = reader.take()
        depth += (token.text == "{") - (token.text == "}")
        if token.kind == "end":
            raise invalid(token.line, "the value in braces has no end")
        if depth == 0:
            reader.leave()
            return words
        words.append(token.text)


def read_float(token: Token) -> float:
    """Return the number of a word, which may be ``inf`` or ``nan``.

    :raises InvalidSchema: it is no number.
    """
    try:
        if "_" in token.text:
            raise ValueError
        return float(token.text.rstrip("fF") if token.kind == "number" else token.text)
    except ValueError:
        raise invalid(token.line, f"expected a number, found {token.text[:40]!r}") from None


def _find(options: Options, names: list[str]) -> tuple[Options | pb.FeatureSet, FieldDescriptor] | None:
    """Return the message and field that an option of Protobuf's own sets; None for others."""
    target: Options | pb.FeatureSet = options
    if len(names) == 2 and names[0] == "features":
        target = options.features
    elif len(names) != 1:
        return None
    field = target.DESCRIPTOR.fields_by_name.get(names[-1])
    if field is None or field.message_type is not None or field.name == "uninterpreted_option":
        return None
    return target, field


def _set(target: Options | pb.FeatureSet, field: FieldDescriptor, option: pb.UninterpretedOption) -> bool:
    """Set a field to the value of an option; return False if the value is of another type."""
    value: bool | int | str | None = None
    if field.type == FieldDescriptor.TYPE_BOOL:
        value = _FLAGS.get(option.identifier_value)
    elif field.enum_type is not None:
        number = field.enum_type.values_by_name.get(option.identifier_value)
        value = None if number is None else number.number
    elif field.type == FieldDescriptor.TYPE_STRING and option.HasField("string_value"):
        value = option.string_value.decode(errors="replace")
    if value is None:
        return False
    if field.is_repeated:
        getattr(target, field.name).append(value)
    else:
        setattr(target, field.name, value)
    return True
