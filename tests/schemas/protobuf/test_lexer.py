"""The words of .proto files."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.schemas.protobuf.lexer import Token, tokens, unquote
from kafkatx.schemas.protobuf.printer import quoted
from kafkatx.schemas.types import InvalidSchema


class LexerTests(SynchronousTestCase):
    def test_words(self) -> None:
        """Blanks and comments part words, and lines are counted."""
        found = [(one.kind, one.text, one.line) for one in tokens("a//b\n/* c\n */ 1.5e-3 .5 'x\\'y' {")]
        self.assertEqual(
            found,
            [
                ("name", "a", 1),
                ("number", "1.5e-3", 3),
                ("number", ".5", 3),
                ("text", "'x\\'y'", 3),
                ("symbol", "{", 3),
                ("end", "the end", 3),
            ],
        )

    def test_refused(self) -> None:
        """Letters that begin no word, and what does not end, are refused."""
        for text in ("a ü", "'a", '"a\nb"', "/* a", "\x00", "$"):
            self.assertRaises(InvalidSchema, list, tokens(text))

    @given(st.binary())
    def test_quotes(self, data: bytes) -> None:
        """Any bytes are the same after they were written in quotation marks and read."""
        (token, _) = tokens(quoted(data))
        self.assertEqual(unquote(token), data)

    def test_escapes(self) -> None:
        """Escapes are those of C, and of Unicode."""
        self.assertEqual(
            unquote(Token("text", r"'\a\b\f\n\r\t\v\?\x4\X41\7\101é\U0001F600'", 1)),
            b"\a\b\f\n\r\t\v?\x04A\x07A\xc3\xa9\xf0\x9f\x98\x80",
        )
        for escape in (r"\q", r"\u12", r"\ud800", r"\U00110000"):
            self.assertRaises(InvalidSchema, unquote, Token("text", f"'{escape}'", 1))
