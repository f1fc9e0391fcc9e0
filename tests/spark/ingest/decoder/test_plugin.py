"""Tests of kafkatx.spark.ingest.decoder.plugin, and of what stands behind it, by JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase
from zope.interface import implementer

from kafkatx.interfaces import IDecoder, IRowDecoder
from kafkatx.spark.ingest.decoder import DEAD_SCHEMA, KAFKA_COLUMNS
from kafkatx.spark.ingest.decoder.inference import MAX_DEPTH, MAX_FIELDS, is_void
from kafkatx.spark.ingest.decoder.plugin import MAX_REASON, DeclaredDecoding, InferringDecoding
from kafkatx.spark.ingest.decoder.scalars import json_text
from kafkatx.spark.ingest.table.columns import Column
from tests.spark.ingest.decoder.batches import batch, documents, reasons, rows, settled, types


class RowTests(SynchronousTestCase):
    def test_columns(self) -> None:
        """Fields become columns in the order in which they come; behind them stands where a row is from."""
        decoding, (decoded,) = settled([documents({"b": 1, "a": "x"}, {"c": [1.5], "b": 2})])
        self.assertEqual(types(decoding), {"b": "bigint", "a": "string", "c": "array<double>"})
        self.assertEqual(decoded.rows.schema.names, ["b", "a", "c", *KAFKA_COLUMNS])
        self.assertEqual(rows(decoded), [{"b": 1, "a": "x", "c": None}, {"b": 2, "a": None, "c": [1.5]}])
        last = decoded.rows.to_pylist()[-1]
        found = (last["kafka_topic"], last["kafka_partition"], last["kafka_offset"])
        self.assertEqual(found, ("t", 3, 1))
        self.assertEqual(last["kafka_timestamp"].timestamp(), 1.0)
        self.assertIsNone(decoded.dead)

    def test_tombstones(self) -> None:
        """A record without a value is a row of nulls, and so is JSON's null."""
        _, (decoded,) = settled([batch([None, b'{"a":1}', b"null"])])
        self.assertEqual(rows(decoded), [{"a": None}, {"a": 1}, {"a": None}])
        self.assertEqual(decoded.rows.column("kafka_offset").to_pylist(), [0, 1, 2])

    def test_only_tombstones(self) -> None:
        """Without any value there is no column yet."""
        decoding, (decoded,) = settled([batch([None, b"{}"])])
        self.assertEqual((types(decoding), rows(decoded)), ({}, [{}, {}]))

    def test_single_values(self) -> None:
        """A value that is no object is in the column ``value``."""
        _, (decoded,) = settled([documents(5, [1, 2], {"value": "x"})])
        self.assertEqual(rows(decoded), [{"value": "5"}, {"value": "[1,2]"}, {"value": "x"}])

    def test_text(self) -> None:
        """The decoders of text and bytes make that column, too."""
        for name, value in (("string", "grün"), ("bytes", "grün".encode())):
            _, (decoded,) = settled([batch(["grün".encode()])], name=name)
            self.assertEqual(rows(decoded), [{"value": value}])

    def test_empty_batch(self) -> None:
        """No records, no rows."""
        for name in ("json", "access-log"):
            _, (decoded,) = settled([batch([])], name=name)
            self.assertEqual((decoded.rows.num_rows, decoded.dead), (0, None))

    def test_nested(self) -> None:
        """Objects are structs, and what one of them lacks is null."""
        _, (decoded,) = settled(
            [documents({"u": {"a": 1, "l": [{"x": 1}, {}]}}, {"u": {"b": "z"}}, {"u": {}})]
        )
        self.assertEqual(
            [row["u"] for row in rows(decoded)],
            [
                {"a": 1, "l": [{"x": 1}, {"x": None}], "b": None},
                {"a": None, "l": None, "b": "z"},
                {"a": None, "l": None, "b": None},
            ],
        )


class DeadLetterTests(SynchronousTestCase):
    def test_content(self) -> None:
        """A dead letter has the record's own bytes, where it is from, and why; the others go on."""
        _, (decoded,) = settled([batch([b'{"a":1}', b'{"a":', b'{"a":2}', b"\xff"])])
        self.assertEqual(rows(decoded), [{"a": 1}, {"a": 2}])
        self.assertEqual(decoded.rows.column("kafka_offset").to_pylist(), [0, 2])
        assert decoded.dead is not None
        self.assertEqual(decoded.dead.schema, DEAD_SCHEMA)
        first, second = decoded.dead.to_pylist()
        self.assertEqual(
            (first["topic"], first["partition"], first["offset"], first["key"], first["value"]),
            ("t", 3, 1, b"key-1", b'{"a":'),
        )
        self.assertEqual(first["timestamp"].timestamp(), 1.0)
        self.assertIn("json: Expecting value", first["reason"])
        self.assertIn("""b'{"a":'""", first["reason"])
        self.assertIn("\\xff", second["reason"])

    def test_misfits(self) -> None:
        """A value that does not fit the type of its first sight is one; the reason says which and why."""
        known = [Column("n", "bigint"), Column("u", "struct<tags:array<struct<x:double>>>")]
        _, (decoded,) = settled(
            [
                documents(
                    {"n": 1}, {"n": "one"}, {"n": 1.5}, {"n": 2.0}, {"u": {"tags": [{"x": "y"}]}}, {"u": 5}
                )
            ],
            known,
        )
        self.assertEqual([row["n"] for row in rows(decoded)], [1, 2])
        self.assertEqual(
            reasons(decoded),
            {
                1: "field n: 'one' is no bigint",
                2: "field n: 1.5 is no bigint",
                4: "field u.tags.[].x: 'y' is no double",
                5: "field u: 5 is no object",
            },
        )

    def test_whole_numbers_become_fractions(self) -> None:
        """A column of fractions takes whole numbers, if they stay the same."""
        _, (decoded,) = settled([documents({"n": 2}, {"n": (1 << 53) + 1})], [Column("n", "double")])
        self.assertEqual(rows(decoded), [{"n": 2.0}])
        self.assertEqual(reasons(decoded), {1: "field n: 9007199254740993 is no double"})

    def test_text_takes_all(self) -> None:
        """A column of text takes anything, as its JSON."""
        _, (decoded,) = settled(
            [documents({"s": 5}, {"s": {"a": [True]}}, {"s": "x"})], [Column("s", "string")]
        )
        self.assertEqual([row["s"] for row in rows(decoded)], ["5", '{"a":[true]}', "x"])

    def test_no_unicode(self) -> None:
        """JSON can write text that is no Unicode; it is told of without any."""
        _, (decoded,) = settled(
            [batch([b'{"a":"\\ud800"}', b'{"a":"x","\\ud800":1}'])], [Column("a", "string")]
        )
        self.assertEqual(list(reasons(decoded)), [0, 1])
        self.assertIn("Unicode", reasons(decoded)[0])

    def test_reasons_are_short(self) -> None:
        """However long a value, a name or an error is."""
        name = "n" * 10_000
        long = documents({"a": "x" * 100_000}, {name: 1}, {"a": [[1] * 1000] * 100})
        _, (decoded,) = settled([long], [Column("a", "bigint")])
        self.assertEqual(list(reasons(decoded)), [0, 1, 2])
        long_name = "n" * 255
        nested = Column(long_name, f"struct<{long_name}:struct<{long_name}:bigint>>")
        _, (more,) = settled([documents({long_name: {long_name: {long_name: "x"}}})], [nested])
        self.assertEqual(len(reasons(more)[0]), MAX_REASON)
        self.assertLessEqual(max(map(len, reasons(decoded).values())), MAX_REASON)

    def test_names(self) -> None:
        """Fields whose names cannot stand beside the columns that there are make a dead letter."""
        _, (decoded,) = settled(
            [
                documents(
                    {"Name": 1}, {"": 1}, {"kafka_offset": 5}, {"KAFKA_TOPIC": 5}, {"name": 2, "NAME": None}
                )
            ],
            [Column("name", "bigint"), Column("u", "struct<a:bigint>")],
        )
        self.assertEqual([row["name"] for row in rows(decoded)], [2])
        found = reasons(decoded)
        self.assertEqual(list(found), [0, 1, 2, 3])
        self.assertIn("new field 'Name': another column is called so", found[0])
        self.assertIn("its name is empty", found[1])

    def test_deep(self) -> None:
        """JSON that is nested ten thousand times costs its own record at most."""
        value = b'{"a":' + b"[" * 10_000 + b"]" * 10_000 + b"}"
        _, (decoded,) = settled(
            [batch([value, b'{"b":1}', value[:-1], b'{"c":' + b"[" * 500 + b"]" * 500 + b"}"])]
        )
        self.assertEqual([row["b"] for row in rows(decoded)][:1], [1])
        self.assertEqual(list(reasons(decoded)), [0, 2])
        self.assertIn("json: JSON is nested too deeply: b'", reasons(decoded)[0])
        self.assertLess(str(decoded.rows.schema.field("c").type).count("list"), MAX_DEPTH + 1)

    def test_too_many_fields(self) -> None:
        """A producer of ever new fields cannot make the table ever wider."""
        found = [documents(*({f"f{n}-{m}": 1} for n in range(MAX_FIELDS))) for m in range(3)]
        decoding, decoded = settled(found, [Column("id", "bigint")])
        self.assertEqual(len(types(decoding)), MAX_FIELDS)
        dead = [reason for item in decoded for reason in reasons(item).values()]
        self.assertEqual(len(dead), 2 * MAX_FIELDS + 1)
        self.assertIn(f"{MAX_FIELDS} columns", dead[0])

    def test_their_fields_make_no_columns(self) -> None:
        """New fields of a record that is a dead letter make no columns."""
        decoding, _ = settled([documents({"n": "x", "new": 1}, {"new2": 1, "": 1})], [Column("n", "bigint")])
        self.assertEqual(types(decoding), {"n": "bigint"})


class DriftTests(SynchronousTestCase):
    def test_told(self) -> None:
        """New fields are told with their types, of structs only what is new; rows are without them."""
        known = [Column("a", "bigint"), Column("u", "struct<x:bigint,l:array<struct<p:bigint>>>")]
        found = [documents({"a": 1, "b": True}, {"u": {"x": 1, "y": 2.5, "l": [{"p": 1, "q": "z"}]}})]
        decoded = InferringDecoding("json", Json(), known).decode("t", found[0])
        self.assertEqual(decoded.drift, {"b": "boolean", "u": "struct<y:double,l:array<struct<q:string>>>"})
        self.assertEqual(rows(decoded)[0], {"a": 1, "u": None})
        decoding, (decoded,) = settled(found, known)
        self.assertEqual(
            types(decoding),
            {
                "a": "bigint",
                "u": "struct<x:bigint,l:array<struct<p:bigint,q:string>>,y:double>",
                "b": "boolean",
            },
        )
        self.assertEqual(rows(decoded)[1]["u"], {"x": 1, "l": [{"p": 1, "q": "z"}], "y": 2.5})

    def test_several_batches(self) -> None:
        """A field that several tasks see gets the type that fits the values of all."""
        for first, second, word in (
            (1, 2.5, "double"),
            (2.5, 1, "double"),
            (1, "x", "string"),
            ([], [1], "array<bigint>"),
        ):
            decoding, decoded = settled([documents({"n": first}), documents({"n": second})])
            self.assertEqual(types(decoding), {"n": word})
            self.assertEqual([reasons(item) for item in decoded], [{}, {}])

    def test_types_stay(self) -> None:
        """Values of a later commit do not change a column."""
        decoding, (decoded,) = settled([documents({"n": 1.5})], [Column("n", "bigint")])
        self.assertEqual(types(decoding), {"n": "bigint"})
        self.assertEqual(list(reasons(decoded)), [0])

    @settings(max_examples=150, deadline=None)
    @given(
        st.lists(
            st.lists(
                st.recursive(
                    st.one_of(
                        st.none(),
                        st.booleans(),
                        st.integers(-(1 << 65), 1 << 65),
                        st.floats(-9, 9),
                        st.text("ab"),
                    ),
                    lambda inner: st.one_of(
                        st.lists(inner, max_size=3),
                        st.dictionaries(st.sampled_from(["a", "b", "A", "value", ""]), inner, max_size=3),
                    ),
                    max_leaves=6,
                ),
                max_size=4,
            ),
            max_size=3,
        )
    )
    def test_nothing_is_lost(self, commits: list[list[Any]]) -> None:
        """Over any commits each value is in its row, or the record is a dead letter."""
        known: Sequence[Column] = ()
        for found in commits:
            decoding, (decoded,) = settled([documents(*found)], known)
            known = decoding.columns()
            dead, left = reasons(decoded), iter(rows(decoded))
            for place, document in enumerate(found):
                if place not in dead:
                    whole = document if isinstance(document, dict) else {"value": document}
                    self.assertTrue(holds(next(left), whole), (found, known))
            self.assertEqual([*left], [])


def holds(stored: Any, value: Any) -> bool:
    """Return True if a row, or something in it, holds all of a JSON value."""
    if is_void(value):
        return True
    if isinstance(stored, str) and not isinstance(value, str):
        return bool(stored == json_text(value))
    if isinstance(value, dict):
        return all(is_void(item) or holds(stored[name], item) for name, item in value.items())
    if isinstance(value, list):
        return len(stored) == len(value) and all(map(holds, stored, value))
    return bool(stored == value)


@implementer(IDecoder)
class Json:
    """JSON, and an error for ``!``."""

    def decode(self, topic: str, data: bytes | None) -> Any:
        """The object."""
        return None if data is None else json.loads(data)


@implementer(IDecoder)
class Broken:
    """A plug-in that fails in every way."""

    errors: Mapping[bytes | None, Exception] = {
        b"key": KeyError("x"),
        b"empty": ValueError(),
        b"lines": ValueError("one\ntwo"),
        b"long": ValueError("x" * 100_000),
        b"memory": MemoryError(),
        b"depth": RecursionError("too deep"),
        b"surrogate": ValueError("no text: \udc80"),
    }

    def decode(self, topic: str, data: bytes | None) -> Any:
        """Raise, or give something strange."""
        if data in self.errors:
            raise self.errors[data]
        return {b"object": object(), b"names": {5: "x", None: 1}}.get(data or b"", {"ok": 1})


class PluginTests(SynchronousTestCase):
    def test_whatever_it_raises(self) -> None:
        """It costs the record alone, and the reason names the error."""
        values = [*Broken.errors, b"fine"]
        decoding = InferringDecoding("broken", Broken(), [Column("ok", "bigint")])
        decoded = decoding.decode("t", batch(values))
        self.assertEqual(rows(decoded), [{"ok": 1}])
        found = reasons(decoded)
        self.assertEqual(len(found), len(values) - 1)
        self.assertIn("broken: KeyError: 'x'", found[0])
        self.assertIn("ValueError", found[1])
        self.assertIn("broken: one two", found[2])
        self.assertIn("MemoryError", found[4])
        self.assertIn("no text: \\udc80", found[6])

    def test_strange_objects(self) -> None:
        """Objects that are nothing of ours are text; names that are none make a dead letter."""
        decoding = InferringDecoding("broken", Broken(), [Column("ok", "bigint"), Column("value", "string")])
        decoded = decoding.decode("t", batch([b"object", b"names"]))
        self.assertIn("object", rows(decoded)[0]["value"])
        self.assertIn("its name is no text", reasons(decoded)[1])


@implementer(IRowDecoder)
class Pairs:
    """``a=1`` -> ("a", 1), and what is wrong in other ways."""

    columns = (("name", "string"), ("number", "int"))
    time_column = None

    def decode(self, topic: str, data: bytes | None) -> Any:
        """A pair."""
        wrong: dict[bytes | None, Any] = {
            b"short": ("a",),
            b"dict": {"name": "a"},
            b"list": ["a", 1],
            b"type": ("a", "b"),
        }
        if data in wrong:
            return wrong[data]
        name, _, number = (data or b"").partition(b"=")
        return (name.decode(), int(number))


class DeclaredTests(SynchronousTestCase):
    def setUp(self) -> None:
        """A decoding by pairs."""
        self.decoding = DeclaredDecoding(
            "pairs", Pairs(), [Column("name", "string"), Column("number", "int")]
        )

    def test_rows(self) -> None:
        """Tuples become rows, and no record a row of nulls; there is never drift."""
        decoded = self.decoding.decode("t", batch([b"a=1", None, b"b=2"]))
        self.assertEqual(
            rows(decoded),
            [{"name": "a", "number": 1}, {"name": None, "number": None}, {"name": "b", "number": 2}],
        )
        self.assertEqual((decoded.drift, decoded.dead), ({}, None))

    def test_wrong(self) -> None:
        """A row that is no tuple, is too short, or does not fit its column is a dead letter."""
        decoded = self.decoding.decode(
            "t", batch([b"short", b"dict", b"list", b"type", b"a=x", b"a=99999999999", b"c=3"])
        )
        self.assertEqual(rows(decoded), [{"name": "c", "number": 3}])
        found = reasons(decoded)
        for place in (0, 1, 2):
            self.assertIn("pairs: gave ", found[place])
        self.assertEqual(found[3], "field number: 'b' is no int")
        self.assertIn("invalid literal", found[4])
        self.assertEqual(found[5], "field number: 99999999999 is no int")


class NumberTests(SynchronousTestCase):
    def test_digits(self) -> None:
        """A number beyond a double is a dead letter, and text has all digits of a number."""
        values = [b'{"f": 1.5}', b'{"f": 1e999}', b'{"f": "a", "g": 0.12345678901234567890}', b'{"g": "b"}']
        _, (decoded,) = settled([batch(values)])
        rows = [(row["f"], row["g"]) for row in decoded.rows.to_pylist()]
        self.assertEqual(rows, [("1.5", None), ("a", "0.12345678901234567890"), (None, "b")])
        assert decoded.dead is not None
        self.assertIn("1e999", decoded.dead.column("reason").to_pylist()[0])
