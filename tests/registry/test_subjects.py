"""Names of subjects and contexts."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.registry.errors import RegistryError
from kafkatx.registry.subjects import (
    context_of,
    context_subject,
    covers,
    has_prefix,
    normalized,
    topic_of,
)


class SubjectTests(SynchronousTestCase):
    def test_normalized(self) -> None:
        """The default context is left out; slashes, colons and blanks are allowed."""
        names = ("a", "a/b:c d", ":.c:a", ":.:a")
        self.assertEqual([normalized(name) for name in names], ["a", "a/b:c d", ":.c:a", "a"])

    def test_invalid(self) -> None:
        """Names that are empty, too long, reserved or not printable are refused."""
        for name in ("", ":.:", "a\0", "a\n", "\ud800", "__GLOBAL", "__EMPTY", "x" * 1025):
            self.assertEqual(self.assertRaises(RegistryError, normalized, name).code, 42208)

    def test_contexts(self) -> None:
        """A context is in the name."""
        self.assertEqual([context_of(name) for name in ("a", ":.c:a", ":.c:", ":x")], [".", ".c", ".c", "."])
        self.assertEqual([context_subject(name) for name in ("a", ":.c:a")], ["", ":.c:"])

    def test_topics(self) -> None:
        """Keys and values of a topic are of the default context; names of records are of no topic."""
        cases = {"t-value": "t", "t-key": "t", "a-b-value": "a-b", "t-values": "", "com.acme.Order": ""}
        cases |= {":.c:t-value": "", ":.c:": "", "-value": "", "t-com.acme.Order": "", "t-key-value": "t-key"}
        self.assertEqual({subject: topic_of(subject) for subject in cases}, cases)

    def test_covers(self) -> None:
        """A scope is a subject, a context, or everything in the default context."""
        cases = {("a", "a"): True, ("a", "b"): False, (":.c:", ":.c:a"): True, (":.c:", "a"): False}
        cases |= {("", "a"): True, ("", ":.c:a"): False, (":.c:a", ":.c:b"): False}
        for (scope, subject), expected in cases.items():
            self.assertEqual(covers(scope, subject), expected, (scope, subject))

    def test_prefix(self) -> None:
        """``:*:`` is any context."""
        cases = {
            (":.c:ab", ":*:a"): True,
            ("ab", ":*:a"): True,
            ("ab", ":*:b"): False,
            (":.c:ab", "a"): False,
        }
        for (subject, prefix), expected in cases.items():
            self.assertEqual(has_prefix(subject, prefix), expected, (subject, prefix))
