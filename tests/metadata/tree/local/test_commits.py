"""Commits: replies wait for their changes, in order, and changes that wait are made together."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TypeVar

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.metadata.tree.local.commits import Commits
from kafkatx.metadata.tree.local.database import Stored, StoredSession
from kafkatx.metadata.tree.nodes import Node

T = TypeVar("T")


class CommitsTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make commits whose worker waits for the test."""
        self.queue: deque[Callable[[], None]] = deque()
        self.written: list[Stored] = []
        self.error: Exception | None = None
        self.failures: list[Failure] = []
        self.told: list[str] = []
        self.commits = Commits(self.work, self.write, self.failures.append)

    def work(self, function: Callable[[], T]) -> Deferred[T]:
        """Call a function when the test says so."""
        done: Deferred[T] = Deferred()

        def run() -> None:
            try:
                result = function()
            except Exception:
                done.errback()
            else:
                done.callback(result)

        self.queue.append(run)
        return done

    def write(self, changes: Stored) -> None:
        """Note changes, or fail."""
        if self.error is not None:
            raise self.error
        self.written.append(changes)

    def change(self, path: str, zxid: int) -> None:
        """Change a node, and tell its path when that is durable."""
        self.commits.node(path, Node(b"", zxid, zxid))
        self.commits.begin(zxid, 0)
        self.tell(path)

    def tell(self, text: str) -> None:
        """Tell a text when everything before it is durable."""
        self.commits.then(lambda: self.told.append(text))

    def test_at_once(self) -> None:
        """A reply is told at once if there was no change."""
        self.tell("a")
        self.assertEqual((self.told, self.queue), (["a"], deque()))

    def test_waits(self) -> None:
        """A reply waits for the changes before it, also the reply to a read."""
        self.change("/a", 1)
        self.tell("read")
        self.assertEqual(self.told, [])
        self.queue.popleft()()
        self.assertEqual(self.told, ["/a", "read"])

    def test_together(self) -> None:
        """Changes that come during a commit are made by the next, and their replies wait for that."""
        for zxid, path in enumerate(("/a", "/b", "/c", "/b"), 1):
            self.change(path, zxid)
        self.assertEqual(len(self.queue), 1)
        self.queue.popleft()()
        self.assertEqual(self.told, ["/a"])
        self.tell("read")
        self.queue.popleft()()
        self.assertEqual(self.told, ["/a", "/b", "/c", "/b", "read"])
        self.assertEqual([sorted(each.nodes) for each in self.written], [["/a"], ["/b", "/c"]])
        self.assertEqual([each.zxid for each in self.written], [1, 4])

    def test_values_are_copied(self) -> None:
        """A node that changes again while it is written is written as it was."""
        node = Node(b"1", 1, 1)
        self.commits.node("/a", node)
        self.commits.session(7, StoredSession("t", 1))
        self.commits.begin(1, 7)
        node.data = b"2"
        self.queue.popleft()()
        self.assertEqual(self.written, [Stored({"/a": Node(b"1", 1, 1)}, {7: StoredSession("t", 1)}, 1, 7)])

    def test_failure(self) -> None:
        """After a failure nothing is told and nothing is written until the reset."""
        self.change("/a", 1)
        self.change("/b", 2)
        self.error = OSError("full")
        self.queue.popleft()()
        self.assertEqual([str(failure.value) for failure in self.failures], ["full"])
        self.change("/c", 3)
        self.assertEqual((self.told, self.queue), ([], deque()))
        self.commits.reset()
        self.error = None
        self.change("/d", 1)
        self.queue.popleft()()
        self.assertEqual((self.told, [sorted(each.nodes) for each in self.written]), (["/d"], [["/d"]]))

    def test_settled(self) -> None:
        """The end of all commits is told."""
        self.successResultOf(self.commits.settled())
        self.change("/a", 1)
        self.change("/b", 2)
        settled = self.commits.settled()
        self.queue.popleft()()
        self.assertNoResult(settled)
        self.queue.popleft()()
        self.successResultOf(settled)
