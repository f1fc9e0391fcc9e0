"""Names that may become topics."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.errors import ErrorCode, RequestError
from kafkatx.names import check_topic_name, colliding_topic, counted, verb

REFUSED = (
    ("", "is empty"),
    (".", "cannot be '.'"),
    ("..", "cannot be '..'"),
    ("a" * 250, "250 characters long, more than 249"),
    ("../x", "has characters other than"),
    ("a/b", "has characters other than"),
    ("a\\b", "has characters other than"),
    ("a\0b", "has characters other than"),
    ("a\n", "has characters other than"),
    ("ä", "has characters other than"),
    ("a b", "has characters other than"),
    ("a:b", "has characters other than"),
)


class CollidingTopicTests(SynchronousTestCase):
    """colliding_topic()."""

    def test_all(self) -> None:
        """Names that differ in dots and underscores alone collide, among few topics and among many."""
        for more in range(0, 2000, 1999):
            topics = ["x.y", "a.b_c", "plain", "_", *(f"t-{number}" for number in range(more))]
            for name, other in (
                ("x_y", "x.y"),
                ("x.y", None),
                ("x-y", None),
                ("xy", None),
                ("a_b_c", "a.b_c"),
                ("a.b.c", "a.b_c"),
                ("a_b.c", "a.b_c"),
                ("plain", None),
                (".", "_"),
                ("._" * 124, None),
            ):
                self.assertEqual(colliding_topic(name, dict.fromkeys(topics)), other, name)


class CheckTopicNameTests(SynchronousTestCase):
    """check_topic_name()."""

    def test_legal(self) -> None:
        """Names that Kafka allows pass."""
        for name in ("a", "A.b_c-9", "...", "..a", "-", "__consumer_offsets", "a" * 249):
            check_topic_name(name)

    def test_refused(self) -> None:
        """All others are INVALID_TOPIC_EXCEPTION, and the message says why."""
        for name, why in REFUSED:
            error = self.assertRaises(RequestError, check_topic_name, name)
            self.assertEqual(error.code, ErrorCode.INVALID_TOPIC_EXCEPTION)
            self.assertIn(why, str(error))


class CountedTests(SynchronousTestCase):
    def test_nouns(self) -> None:
        """One thing is singular; others have the plural of their noun, and verbs follow."""
        self.assertEqual(
            [counted(1, "batch"), counted(2, "batch"), counted(0, "copy"), counted(1, "copy")],
            ["1 batch", "2 batches", "0 copies", "1 copy"],
        )
        self.assertEqual(counted(12345, "partition"), "12,345 partitions")
        self.assertEqual([verb(1, "is", "are"), verb(2, "is", "are")], ["is", "are"])
