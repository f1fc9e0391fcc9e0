"""Tests of the values of trees."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.interfaces.nodes import (
    BadVersion,
    Check,
    Create,
    Delete,
    NoNode,
    Refused,
    SetData,
    check_path,
    parent_path,
)


class PathTests(SynchronousTestCase):
    def test_paths(self) -> None:
        """The root and absolute paths are accepted, others refused."""
        for path in ("/", "/a", "/a/b c", "/ü", "/...", "/config/brokers/<default>"):
            self.assertEqual(check_path(path), path)
        for path in ("", "a", "a/b", "//", "/a/", "/a//b", "/.", "/a/../b", "/a\0"):
            self.assertRaises(ValueError, check_path, path)

    def test_parent(self) -> None:
        """The parent of a node below the root is the root."""
        self.assertEqual([parent_path("/a"), parent_path("/a/b")], ["/", "/a"])

    def test_operations(self) -> None:
        """An operation refuses a bad path; the root cannot go."""
        for operation in (Check, Create, Delete):
            self.assertRaises(ValueError, operation, "/a/")
        self.assertRaises(ValueError, SetData, "/a/", b"")
        self.assertRaises(ValueError, Create, "/a/", sequential=True)
        for operation in (Create, Delete):
            self.assertRaises(ValueError, operation, "/")
        self.assertEqual(SetData("/", b"").path, Check("/").path)


class ErrorTests(SynchronousTestCase):
    def test_text(self) -> None:
        """An error names its operation and that operation's place; that of a read names the path."""
        self.assertEqual(str(NoNode("/a")), "NoNode: /a")
        error = BadVersion("/a", Check("/a", 3), 2)
        self.assertEqual(str(error), "BadVersion: [2] Check /a")
        self.assertEqual(str(Refused("/a", reason="NoAuthError")), "Refused: /a (NoAuthError)")
