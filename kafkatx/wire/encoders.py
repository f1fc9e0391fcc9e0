"""The generator of encoders: it writes the source of a function that encodes one version of a message. Pure.

Adjacent fixed-size fields, with the length that follows and the empty sections of tagged fields between them,
are one ``pack``. Records are never copied: each is a chunk of its own.
"""

from __future__ import annotations

import struct

from kafkatx.wire import primitives
from kafkatx.wire.schema import (
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


def encoder_source(cls: type[Message], version: int) -> Source:
    """Return the source of ``encode(o0)``, which returns the message as a list of chunks."""
    return _Encoder(cls, version).write()


class _Encoder:
    """The state of the generator: the pending fixed-size values, which are packed together, and names.

    In the generated function ``add`` appends to the list of parts, which are joined.
    """

    def __init__(self, cls: type[Message], version: int) -> None:
        self._cls = cls
        self._version = version
        self._flexible = version >= cls.FLEXIBLE_SINCE
        self._add = "add"
        self._run: list[tuple[str, str]] = []  # (letter, expression); "x" is a zero byte
        self._source = Source(
            pack=struct.pack,
            UNFIT=primitives.UNFIT,
            ONE_BYTE_VARINTS=primitives.ONE_BYTE_VARINTS,
            uvarint=primitives.uvarint,
            tagged=primitives.tagged,
            NULL_UUID=NULL_UUID,
        )

    def write(self) -> Source:
        """Write the whole function."""
        add, block = self._source.add, self._source.block
        with block("def encode(o0):"):
            add("chunks, parts = [], []")
            add("add = parts.append")
            with block("try:"):
                self._struct(self._cls, "o0", 0)
                self._flush()
            with block("except UNFIT as error:"):
                what = f"{self._cls.__name__} v{self._version}: "
                add(f"raise ValueError({what!r} + str(error)) from error")
            with block("if parts:"):
                add("chunks.append(b''.join(parts))")
            add("return chunks")
        return self._source

    def _struct(self, cls: StructType, made: str, depth: int) -> None:
        known = [f for f in cls.FIELDS if f.tagged_in(self._version)]
        for f in cls.FIELDS:
            if f.exists_in(self._version) and f not in known:
                self._value(f.type_in(self._version), f"{made}.{f.name}", depth)
        if known:
            self._tagged_section(known, made, depth)
        elif self._flexible:
            self._run.append(("x", ""))

    def _value(self, kind: Type, value: str, depth: int) -> None:
        """Write one value of any type."""
        null = isinstance(kind, Nullable)
        of = kind.of if isinstance(kind, Nullable) else kind
        if isinstance(of, Fixed):
            self._run.append((of.letter, f"{value}.bytes" if of is UUID else value))
        elif of is RECORDS:
            self._records(value, null)
        elif isinstance(of, Sized):
            self._sized(of, value, null)
        elif isinstance(of, Array):
            self._array(of.of, value, null, depth)
        elif null:
            self._nullable_struct(of, value, depth)
        else:
            self._source.add(f"o{depth + 1} = {value}")
            self._struct(of, f"o{depth + 1}", depth + 1)

    def _pack(self, *more: tuple[str, str]) -> str:
        """Return an expression that packs the pending values and some more."""
        run = [*self._run, *more]
        letters = "".join(letter for letter, _ in run)
        values = ", ".join(value for letter, value in run if letter != "x")
        if not values:
            return repr(bytes(len(letters)))
        return f"{self._source.packing(letters, 'pack')}({values})"

    def _flush(self) -> None:
        if self._run:
            self._source.add(f"{self._add}({self._pack()})")
            self._run = []

    def _length(self, letter: str) -> None:
        """Write ``n``, a length (+ 1 if compact), with the pending values."""
        add, block = self._source.add, self._source.block
        if not self._flexible:
            add(f"{self._add}({self._pack((letter, 'n'))})")
        else:
            with block("if n < 128:"):
                short = self._pack(("B", "n")) if self._run else "ONE_BYTE_VARINTS[n]"
                add(f"{self._add}({short})")
            with block("else:"):
                before = f"{self._pack()} + " if self._run else ""
                add(f"{self._add}({before}uvarint(n))")
        self._run = []

    def _count(self, value: str, null: bool, convert: str = "") -> None:
        """Set ``v`` to the value and ``n`` to its length, or to the number for null."""
        add, block = self._source.add, self._source.block
        more = " + 1" if self._flexible else ""
        add(f"v = {value}{'' if null else convert}")
        if not null:
            add(f"n = len(v){more}")
            return
        with block("if v is None:"):
            add(f"n = {0 if self._flexible else -1}")
        with block("else:"):
            if convert:
                add(f"v = v{convert}")
            add(f"n = len(v){more}")

    def _sized(self, kind: Sized, value: str, null: bool) -> None:
        self._count(value, null, ".encode()" if kind is STRING else "")
        self._length(kind.length_letter)
        if null:
            with self._source.block("if v:"):
                self._source.add(f"{self._add}(v)")
        else:
            self._source.add(f"{self._add}(v)")

    def _records(self, value: str, null: bool) -> None:
        """Write a length and the end of a chunk; the records themselves are the next chunk."""
        add, block = self._source.add, self._source.block
        self._count(value, null)
        self._length("i")
        with block("if n:" if self._flexible else "if n >= 0:"):
            add("chunks.append(b''.join(parts))")
            add("parts.clear()")
            add("chunks.append(v)")

    def _array(self, of: Type, value: str, null: bool, depth: int) -> None:
        add, block = self._source.add, self._source.block
        self._count(value, null)
        self._length("i")
        if isinstance(of, Fixed):
            with block("if v:"):
                if of is UUID:
                    add(f"{self._add}(b''.join([u.bytes for u in v]))")
                else:
                    add(f"{self._add}(pack(f'>{{len(v)}}{of.letter}', *v))")
            return
        item = f"o{depth + 1}"
        with block(f"for {item} in v or ():" if null else f"for {item} in v:"):
            if isinstance(of, StructType):
                self._struct(of, item, depth + 1)
            else:
                self._value(of, item, depth + 1)
            self._flush()

    def _nullable_struct(self, cls: StructType, value: str, depth: int) -> None:
        """Write a struct after a byte: 1, or -1 for null."""
        add, block = self._source.add, self._source.block
        self._flush()
        add(f"o{depth + 1} = {value}")
        with block(f"if o{depth + 1} is None:"):
            add(f"{self._add}(b'\\xff')")
        with block("else:"):
            self._run.append(("b", "1"))
            self._struct(cls, f"o{depth + 1}", depth + 1)
            self._flush()

    def _tagged_section(self, known: list[Field], made: str, depth: int) -> None:
        """Write the tagged fields that differ from their defaults, by tag; usually there are none."""
        add, block = self._source.add, self._source.block
        self._flush()
        unset = " and ".join(self._unset(f, f"{made}.{f.name}") for f in known)
        with block(f"if {unset}:"):
            add(f"{self._add}(b'\\0')")
        with block("else:"):
            outer, self._add = self._add, f"add{depth}"
            add(f"section{depth} = []")
            for f in sorted(known, key=lambda f: f.tag or 0):
                self._tagged_field(f, f"{made}.{f.name}", depth)
            self._add = outer
            add(f"{self._add}(uvarint(len(section{depth})) + b''.join(section{depth}))")

    def _tagged_field(self, f: Field, value: str, depth: int) -> None:
        add, block = self._source.add, self._source.block
        same = ""
        if isinstance(f.type, StructType):
            same = f" or {value} == {self._source.name(f'DEFAULT_{f.type.__name__}', f.type())}"
        with block(f"if not ({self._unset(f, value)}{same}):"):
            add(f"parts{depth} = []")
            add(f"add{depth} = parts{depth}.append")
            self._value(f.type_in(self._version), value, depth)
            self._flush()
            add(f"section{depth}.append(tagged({f.tag}, parts{depth}))")

    def _unset(self, f: Field, value: str) -> str:
        """Return an expression that is true if the field has its default."""
        if f.default is None:
            return f"{value} is None"
        if callable(f.default):
            return f"not {value}"
        return f"{value} == {'NULL_UUID' if f.default is NULL_UUID else repr(f.default)}"
