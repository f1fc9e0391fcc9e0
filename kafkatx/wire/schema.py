"""Declarations of messages: typed classes whose fields have version ranges. Pure.

A message is declared once, for all its versions::

    class ProduceRequest(Message, key=0, versions=(0, 9), flexible=9):
        transactional_id: str | None = field(nullable(STRING), since=3, default=None)
        acks: int = field(INT16)

Names, order, version ranges and defaults are those of Apache Kafka's message definitions
(``clients/src/main/resources/common/message/*.json``), in snake_case. A field without an explicit
default has its type's: 0, False, "", an empty list, the null UUID. There are two differences: a nullable
string, bytes or records is None unless set (an empty transactional id would be an id), and a tagged struct is
None if it was not sent, so that responses do not create structs that are never set.

Declaring a class runs no ``exec``; the constructor is compiled at its first call, and the codecs
(:mod:`kafkatx.wire.codec`) at the first use of a version.
"""

from __future__ import annotations

import uuid
from typing import Any, ClassVar, TypeAlias

import attrs
from typing_extensions import dataclass_transform

NEVER_FLEXIBLE = 1 << 15
"""The first flexible version of a message that has none: above every version."""

NULL_UUID = uuid.UUID(int=0)
"""The UUID that means "no topic id" on the wire."""


@attrs.frozen
class Fixed:
    """A type of a fixed size; ``letter`` is its format in :mod:`struct`, big-endian."""

    name: str
    letter: str
    size: int
    default: object = 0


@attrs.frozen
class Sized:
    """Bytes after their length: a string, bytes, or record batches, which are not copied."""

    name: str
    length_letter: str
    default: object


@attrs.frozen
class Nullable:
    """A type that may be None (from the field's ``nullable_since`` on)."""

    of: Plain


@attrs.frozen
class Array:
    """A list of one type."""

    of: Type


BOOLEAN = Fixed("bool", "?", 1, False)
INT8 = Fixed("int8", "b", 1)
INT16 = Fixed("int16", "h", 2)
UINT16 = Fixed("uint16", "H", 2)
INT32 = Fixed("int32", "i", 4)
UINT32 = Fixed("uint32", "I", 4)
INT64 = Fixed("int64", "q", 8)
FLOAT64 = Fixed("float64", "d", 8, 0.0)
UUID = Fixed("uuid", "16s", 16, NULL_UUID)
STRING = Sized("string", "h", "")
BYTES = Sized("bytes", "i", b"")
RECORDS = Sized("records", "i", b"")


def nullable(of: Plain) -> Nullable:
    """Return the type whose values are those of *of* or None."""
    return Nullable(of)


def array(of: Type) -> Array:
    """Return the type of lists of *of*."""
    return Array(of)


class Field:
    """One field of a struct: its type, and the versions that have it.

    ``since`` and ``until`` are inclusive. From ``tag_since`` on the field is a tagged one (KIP-482).
    """

    __slots__ = ("default", "name", "nullable_since", "since", "tag", "tag_since", "type", "until")

    def __init__(
        self,
        type: Type,
        since: int,
        until: int | None,
        default: Any,
        nullable_since: int,
        tag: int | None,
        tag_since: int,
    ) -> None:
        self.name = ""
        self.type = type
        self.since = since
        self.until = until
        self.default = default
        self.nullable_since = nullable_since
        self.tag = tag
        self.tag_since = tag_since

    def exists_in(self, version: int) -> bool:
        """Return True if this version has the field, tagged or not."""
        return self.since <= version and (self.until is None or version <= self.until)

    def tagged_in(self, version: int) -> bool:
        """Return True if the field is a tagged field in this version."""
        return self.tag is not None and version >= self.tag_since and self.exists_in(version)

    def type_in(self, version: int) -> Type:
        """Return the field's type in this version, which is nullable only if the version allows null."""
        if isinstance(self.type, Nullable) and version < self.nullable_since:
            return self.type.of
        return self.type

    def __repr__(self) -> str:
        return f"Field({self.name}: {self.type})"


_OWN = object()  # "the type's own default", since None is a default too


def field(
    type: Type,
    *,
    since: int = 0,
    until: int | None = None,
    default: object = _OWN,
    nullable_since: int | None = None,
    tag: int | None = None,
    tag_since: int | None = None,
) -> Any:
    """Declare a field.

    :param since: the first version that has it; *until* is the last one (None: all that follow).
    :param default: the value if the version lacks the field or it is not set; else the type's default.
    :param nullable_since: the first version in which a nullable type may be null, else *since*.
    :param tag: its number among the tagged fields, from version *tag_since* on (else *since*).
    """
    return Field(
        type,
        since,
        until,
        _default_of(type, tag) if default is _OWN else default,
        since if nullable_since is None else nullable_since,
        tag,
        since if tag_since is None else tag_since,
    )


def _default_of(type: Type, tag: int | None) -> object:
    if isinstance(type, Nullable):
        return None if isinstance(type.of, Sized) else _default_of(type.of, tag)
    if isinstance(type, (Fixed, Sized)):
        return type.default
    if isinstance(type, Array):
        return NEW_LIST
    return None if tag is not None else type


class _NewList:
    """The default of an array: each object gets its own empty list."""

    def __call__(self) -> list[object]:
        return []

    def __repr__(self) -> str:
        return "[]"


NEW_LIST = _NewList()


class StructType(type):
    """Metaclass that turns the declared fields into slots before the class exists."""

    FIELDS: tuple[Field, ...]

    def __new__(
        mcs, name: str, bases: tuple[type, ...], namespace: dict[str, object], **options: object
    ) -> StructType:
        """Replace the fields in the class's body by slots."""
        fields = {key: value for key, value in namespace.items() if type(value) is Field}
        for key, declared in fields.items():
            declared.name = key
            del namespace[key]
        namespace["FIELDS"] = tuple(fields.values())
        namespace["__slots__"] = tuple(fields)
        return super().__new__(mcs, name, bases, namespace, **options)


Plain: TypeAlias = Fixed | Sized | Array | StructType
Type: TypeAlias = Plain | Nullable


# field() is deliberately not a "field specifier": every field has a default, so each counts as "= value".
@dataclass_transform()
class Struct(metaclass=StructType):
    """A mutable value with slots for its fields; arguments are positional in their order, or keywords."""

    FIELDS: ClassVar[tuple[Field, ...]]

    def __init__(self, *args: object, **kwargs: object) -> None:
        cls = type(self)
        cls.__init__ = _compile_init(cls)  # type: ignore[method-assign]  # the lazy compilation itself
        cls.__init__(self, *args, **kwargs)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, f.name) == getattr(other, f.name) for f in self.FIELDS)

    __hash__ = None  # type: ignore[assignment]  # mutable

    def __repr__(self) -> str:
        shown = ", ".join(f"{f.name}={_shown(f, getattr(self, f.name))}" for f in self.FIELDS)
        return f"{type(self).__name__}({shown})"


def _shown(declared: Field, value: Any) -> str:
    """Return a value's text; of payloads only the length is shown."""
    of = declared.type.of if isinstance(declared.type, Nullable) else declared.type
    return f"<{len(value)} bytes>" if of in (RECORDS, BYTES) and value is not None else repr(value)


class Message(Struct):
    """A request or response: a struct with an API key, a range of versions and a first flexible one."""

    API_KEY: ClassVar[int]
    VERSIONS: ClassVar[range]
    FLEXIBLE_SINCE: ClassVar[int]

    def __init_subclass__(cls, key: int, versions: tuple[int, int], flexible: int) -> None:
        cls.API_KEY = key
        cls.VERSIONS = range(versions[0], versions[1] + 1)
        cls.FLEXIBLE_SINCE = flexible


def _compile_init(cls: type[Struct]) -> Any:
    """Compile the constructor: a parameter and an assignment for each field."""
    scope: dict[str, object] = {"OWN": _OWN}
    parameters, lines = [], []
    for f in cls.FIELDS:
        if callable(f.default):  # a new list or struct each time
            scope[f"new_{f.name}"] = f.default
            parameters.append(f"{f.name}=OWN")
            lines.append(f" self.{f.name} = new_{f.name}() if {f.name} is OWN else {f.name}")
        else:
            scope[f"default_{f.name}"] = f.default
            parameters.append(f"{f.name}=default_{f.name}")
            lines.append(f" self.{f.name} = {f.name}")
    source = f"def __init__({', '.join(['self', *parameters])}):\n" + "\n".join(lines or [" pass"])
    exec(compile(source, f"<constructor of {cls.__name__}>", "exec"), scope)
    return scope["__init__"]
