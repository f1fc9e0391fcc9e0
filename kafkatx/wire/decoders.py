"""The generator of decoders: it writes the source of a function that decodes one version of a message. Pure.

The function is straight-line code with inline loops, so that frequent messages cost few steps:

*   adjacent fixed-size fields, with the length of the string or array that follows, are one
    ``unpack_from``; a one-byte varint is read inline, and only a longer one calls a function;
*   attributes are set on an object made by ``object.__new__``;
*   bounds are not checked for each string: a read after the end raises ``struct.error`` or ``IndexError``,
    and the last line checks that the end was not passed. Slices never exceed the buffer, and the count of an
    array is checked against the remaining bytes before anything is allocated;
*   for large messages a second form checks the number of elements of all arrays, and of tagged fields,
    against a limit: objects take much more memory than their bytes.
"""

from __future__ import annotations

import struct
import uuid

from kafkatx.wire import primitives
from kafkatx.wire.schema import (
    BOOLEAN,
    NULL_UUID,
    RECORDS,
    STRING,
    UUID,
    Array,
    Field,
    Fixed,
    Message,
    Nullable,
    Sized,
    StructType,
    Type,
)
from kafkatx.wire.source import Source


def decoder_source(cls: type[Message], version: int, counting: bool = False) -> Source:
    """Return the source of ``decode(buffer, at)``, which returns the message and the position after it.

    :param counting: generate ``decode(buffer, at, items)``, which limits the number of elements.
    """
    return _Decoder(cls, version, counting).write()


class _Decoder:
    """The state of the generator: the pending fixed-size reads, which become one, and names."""

    def __init__(self, cls: type[Message], version: int, counting: bool) -> None:
        self._cls = cls
        self._counting = counting
        self._version = version
        self._flexible = version >= cls.FLEXIBLE_SINCE
        self._what = repr(f"{cls.__name__} v{version}")
        self._run: list[tuple[str, int, str]] = []  # (letter, size, target)
        self._after: list[str] = []  # lines that convert the values of the run
        self._source = Source(
            new=object.__new__,
            unpack_from=struct.unpack_from,
            uuid_of=_uuid_of,
            NULL_UUID=NULL_UUID,
            MALFORMED=primitives.MALFORMED,
            read_uvarint=primitives.read_uvarint,
            skip_tagged=primitives.skip_tagged,
            cut_short=primitives.cut_short,
            unexpected_null=primitives.unexpected_null,
            too_many=primitives.too_many,
            too_many_items=primitives.too_many_items,
            wrong_tag_size=primitives.wrong_tag_size,
        )

    def write(self) -> Source:
        """Write the whole function."""
        add, block = self._source.add, self._source.block
        with block(f"def decode(buffer, at{', items' if self._counting else ''}):"):
            if self._counting:
                add("most = items")
            with block("if type(buffer) is not memoryview:"):
                add("buffer = memoryview(buffer)")
            add("size = len(buffer)")
            with block("try:"):
                self._struct(self._cls, "o0", 0)
            with block("except MALFORMED as error:"):
                add(f"raise cut_short({self._what}, size) from error")
            with block("if at > size:"):
                add(f"raise cut_short({self._what}, size)")
            add("return o0, at")
        return self._source

    def _struct(self, cls: StructType, target: str, depth: int) -> None:
        """Write the creation of a struct, the reads of its fields in order, then of its tagged fields."""
        made = f"o{depth}"
        self._source.add(f"{made} = new({self._source.name(cls.__name__, cls)})")
        if target != made:
            self._after.append(f"{target} = {made}")
        tagged = [f for f in cls.FIELDS if f.tagged_in(self._version)]
        for f in cls.FIELDS:
            if f in tagged or not f.exists_in(self._version):
                self._source.add(f"{made}.{f.name} = {self._default(f)}")
            else:
                self._value(f.type_in(self._version), f"{made}.{f.name}", f.name, depth)
        if self._flexible:
            self._tagged_section(tagged, made, depth)
        self._flush()

    def _default(self, f: Field) -> str:
        """Return an expression for the default: a literal, or a call if each object needs its own."""
        if isinstance(f.type, Array) or (isinstance(f.type, Nullable) and callable(f.default)):
            return "[]"
        if f.default is NULL_UUID:
            return "NULL_UUID"
        if callable(f.default):
            return f"{self._source.name('make_' + f.default.__name__, f.default)}()"
        return repr(f.default)

    def _value(self, kind: Type, target: str, name: str, depth: int) -> None:
        """Read one value of any type."""
        null = isinstance(kind, Nullable)
        of = kind.of if isinstance(kind, Nullable) else kind
        if isinstance(of, Fixed):
            self._fixed(of, target)
        elif isinstance(of, Sized):
            self._sized(of, target, name, null)
        elif isinstance(of, Array):
            self._array(of.of, target, name, null, depth)
        elif null:
            self._nullable_struct(of, target, depth)
        else:
            self._flush()
            self._struct(of, target, depth + 1)

    def _fixed(self, kind: Fixed, target: str) -> None:
        self._run.append((kind.letter, kind.size, target))
        if kind is UUID:
            self._after.append(f"{target} = uuid_of({target})")

    def _flush(self) -> None:
        """Write the pending fixed-size reads as one."""
        add = self._source.add
        letters = "".join(letter for letter, _, _ in self._run)
        targets = ", ".join(target for _, _, target in self._run)
        if letters == "B":
            add(f"{targets} = buffer[at]")
        elif letters == BOOLEAN.letter:
            add(f"{targets} = buffer[at] != 0")
        elif letters:
            comma = "," if len(self._run) == 1 else ""
            add(f"{targets}{comma} = {self._source.packing(letters, 'unpack')}(buffer, at)")
        if letters:
            add(f"at += {sum(size for _, size, _ in self._run)}")
        for line in self._after:
            add(line)
        self._run, self._after = [], []

    def _length(self, letter: str) -> None:
        """Write the read of a length into ``n``, with the pending reads; compact ones are length + 1."""
        if self._flexible:
            self._run.append(("B", 1, "n"))
            self._flush()
            with self._source.block("if n > 127:"):
                self._source.add("n, at = read_uvarint(buffer, at - 1)")
        else:
            self._run.append((letter, 2 if letter == "h" else 4, "n"))
            self._flush()

    def _or_null(self, null: bool, target: str, name: str) -> None:
        with self._source.block("else:"):
            if null:
                self._source.add(f"{target} = None")
            else:
                self._source.add(f"raise unexpected_null({self._what}, {name!r})")

    def _sized(self, kind: Sized, target: str, name: str, null: bool) -> None:
        self._length(kind.length_letter)
        convert = {STRING: ".tobytes().decode()", RECORDS: ""}.get(kind, ".tobytes()")
        with self._source.block("if n:" if self._flexible else "if n >= 0:"):
            self._source.add(f"end = at + n{' - 1' if self._flexible else ''}")
            self._source.add(f"{target} = buffer[at:end]{convert}")
            self._source.add("at = end")
        self._or_null(null, target, name)

    def _array(self, of: Type, target: str, name: str, null: bool, depth: int) -> None:
        add, block = self._source.add, self._source.block
        self._length("i")
        with block("if n:" if self._flexible else "if n >= 0:"):
            if self._flexible:
                add("n -= 1")
            least = self._least_bytes(of)
            with block("if n > size - at:" if least == 1 else f"if n * {least} > size - at:"):
                add(f"raise too_many({self._what}, {name!r}, n, size - at)")
            self._count("n")
            if isinstance(of, Fixed) and of is not UUID:
                add(f"{target} = list(unpack_from(f'>{{n}}{of.letter}', buffer, at))")
                add(f"at += n * {of.size}" if of.size > 1 else "at += n")
            else:
                items, item = f"list{depth}", f"item{depth}"
                add(f"{target} = {items} = []")
                with block("for _ in range(n):"):
                    if isinstance(of, StructType):
                        self._struct(of, f"o{depth + 1}", depth + 1)
                        add(f"{items}.append(o{depth + 1})")
                    else:
                        self._value(of, item, name, depth + 1)
                        self._flush()
                        add(f"{items}.append({item})")
        self._or_null(null, target, name)

    def _count(self, number: str) -> None:
        """Write the count of elements, before they are created, if this form counts."""
        if self._counting:
            self._source.add(f"items -= {number}")
            with self._source.block("if items < 0:"):
                self._source.add(f"raise too_many_items({self._what}, most)")

    def _nullable_struct(self, cls: StructType, target: str, depth: int) -> None:
        """Write the read of a struct after a byte, which is negative for null."""
        self._run.append(("b", 1, "n"))
        self._flush()
        with self._source.block("if n >= 0:"):
            self._struct(cls, target, depth + 1)
        self._or_null(True, target, "")

    def _tagged_section(self, known: list[Field], made: str, depth: int) -> None:
        """Write the read of tagged fields: known ones are read, others skipped by their size."""
        add, block = self._source.add, self._source.block
        self._run.append(("B", 1, "n"))
        self._flush()
        with block("if n:"):
            self._count("n if n < 128 else read_uvarint(buffer, at - 1)[0]")
            if not known:
                add("at = skip_tagged(buffer, at - 1)")
                return
            add("n, at = read_uvarint(buffer, at - 1)")
            with block("for _ in range(n):"):
                add("tag, at = read_uvarint(buffer, at)")
                add("n, at = read_uvarint(buffer, at)")
                add(f"end{depth} = at + n")
                for index, f in enumerate(known):
                    with block(f"{'elif' if index else 'if'} tag == {f.tag}:"):
                        self._value(f.type_in(self._version), f"{made}.{f.name}", f.name, depth)
                        self._flush()
                        with block(f"if at != end{depth}:"):
                            add(f"raise wrong_tag_size({self._what}, {f.name!r})")
                with block("else:"):
                    add(f"at = end{depth}")

    def _least_bytes(self, kind: Type) -> int:
        """Return the minimum size of a value of the type in this version."""
        if isinstance(kind, Fixed):
            return kind.size
        if isinstance(kind, Nullable) and isinstance(kind.of, StructType):
            return 1
        if isinstance(kind, (Nullable, Sized, Array)):
            of = kind.of if isinstance(kind, Nullable) else kind
            return 1 if self._flexible else 2 if of is STRING else 4
        return max(1, self._least_struct_bytes(kind))

    def _least_struct_bytes(self, cls: StructType) -> int:
        stands = [f for f in cls.FIELDS if f.exists_in(self._version) and not f.tagged_in(self._version)]
        least = sum(self._least_bytes(f.type_in(self._version)) for f in stands)
        return least + 1 if self._flexible else least


def _uuid_of(data: bytes) -> uuid.UUID:
    """Return the UUID; the null id, the most frequent one, is always the same object."""
    return uuid.UUID(bytes=data) if any(data) else NULL_UUID
