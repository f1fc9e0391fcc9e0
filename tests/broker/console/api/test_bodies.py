"""Fields of bodies."""

from __future__ import annotations

from collections.abc import Callable

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.console.api.bodies import Fields, whole
from kafkatx.broker.console.errors import ConsoleError
from kafkatx.web.calls import Call

JSON = {"content-type": "application/json"}


class BodiesTests(SynchronousTestCase):
    def test_kinds(self) -> None:
        """Fields are read as the kinds that they should be."""
        fields = Fields(
            {
                "t": "x",
                "f": True,
                "n": 5,
                "big": "9223372036854775807",
                "names": ["a", "b"],
                "numbers": [0, "1"],
                "child": {"t": "y", "n": 1.5, "f": False},
                "children": [{"t": "z"}],
                "null": None,
            }
        )
        self.assertEqual((fields.text("t"), fields.text("null", "d"), fields.flag("f")), ("x", "d", True))
        self.assertEqual((fields.whole("n"), fields.whole("big"), fields.whole("no", -1)), (5, 2**63 - 1, -1))
        self.assertEqual((fields.names("names"), fields.names("no")), (["a", "b"], []))
        self.assertEqual((fields.numbers("numbers"), fields.numbers("null")), ([0, 1], None))
        self.assertEqual(fields.child("child").texts(), {"t": "y", "n": "1.5", "f": "false"})
        self.assertEqual([one.text("t") for one in fields.children("children")], ["z"])
        self.assertEqual((fields.child("no").all_names(), fields.children("no")), ([], []))
        self.assertEqual((fields.has("t"), fields.has("null"), fields.raw("n")), (True, False, 5))

    def test_wrong(self) -> None:
        """A field of another kind is refused with its name."""
        fields = Fields({"v": 1.5, "list": [1, None], "half": "\ud800", "nul": "a\0b", "o": {"p": []}})
        for read in (
            fields.text,
            fields.flag,
            fields.whole,
            fields.names,
            fields.numbers,
            fields.child,
            fields.children,
        ):
            self.fails("v must be", lambda read=read: read("v"))  # type: ignore[misc]
        for name in ("half", "nul", "none"):
            self.fails(f"{name} must be a text", lambda name=name: fields.text(name))  # type: ignore[misc]
        self.fails("list must be", lambda: fields.names("list"))
        self.fails("list must be", lambda: fields.numbers("list"))
        self.fails("list must be", lambda: fields.children("list"))
        self.fails("o.p must be", lambda: fields.child("o").text("p"))
        self.fails("o.p must be", lambda: fields.child("o").texts())
        self.fails("at most 1 ", lambda: fields.names("list", 1))

    def test_numbers(self) -> None:
        """Whole numbers have a range; texts of digits are numbers, and nothing else is."""
        values: list[object] = [True, 1.0, "1.0", "", "-", "²", "1_000", " 1", "1" * 30, 2**63, None, []]
        for value in values:
            self.fails("n must be a whole number", lambda value=value: whole(value, "n"))  # type: ignore[misc]
        self.fails("from 0 to 9", lambda: whole(10, "n", 0, 9))
        self.assertEqual([whole(value, "n") for value in ("-5", 7, "007")], [-5, 7, 7])

    def test_bodies(self) -> None:
        """A body is an object of JSON."""
        self.assertEqual(Fields.of(Call("POST", "/", (), {}, JSON, b'{"a":"b"}')).text("a"), "b")
        for body in (b"[]", b'"x"', b"1", b"null"):
            self.fails("the body must be", lambda body=body: Fields.of(Call("POST", "/", (), {}, JSON, body)))  # type: ignore[misc]

    def fails(self, text: str, read: Callable[[], object]) -> None:
        """Check that reading fails with a message."""
        error = self.assertRaises(ConsoleError, read)
        self.assertIn(text, str(error))
        self.assertEqual((error.status, error.code), (400, "INVALID_REQUEST"))
