"""DescribeMirrors: links and mirrored partitions, page by page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from zope.interface import implementer
from zope.interface.verify import verifyObject

from kafkatx.broker.mirror.status import IMirrorStatus, LinkStatus, MirrorStatus
from kafkatx.clientcore.admin.mirrors import ReportPages
from kafkatx.errors import ErrorCode
from kafkatx.wire.messages.api_versions import ApiVersionsRequest
from kafkatx.wire.messages.describe_mirrors import Cursor, DescribeMirrorsRequest
from tests.broker.running import BrokerTestCase

FULL = MirrorStatus("dc1", "a", 1, "failed", "why", 4, True, 6, 7, 3, 10, 50, 11, 40, 39, 1234, 99, 5000, 17)
"""A status with another value in each field."""

LINK = LinkStatus("dc1", "b1:9092,b2:9092", "no broker", 5, 2, 4000, "refused")


@implementer(IMirrorStatus)
class FakeMirrors:
    """Mirrors as the test sets them."""

    def __init__(self, partitions: Sequence[MirrorStatus], links: Sequence[LinkStatus] = ()) -> None:
        self.partitions = partitions
        self.known = links

    def status(self) -> Sequence[MirrorStatus]:
        """See IMirrorStatus."""
        return self.partitions

    def links(self) -> Sequence[LinkStatus]:
        """See IMirrorStatus."""
        return self.known


class DescribeMirrorsTests(BrokerTestCase):
    def ask_for(self, **fields: Any) -> Any:
        """Return the response to a request with these fields."""
        return self.ask(10100, 0, DescribeMirrorsRequest(**fields))

    def show(self, partitions: Sequence[MirrorStatus], links: Sequence[LinkStatus] = ()) -> None:
        """Give the broker these mirrors and links."""
        broker: Any = self.broker
        broker.mirrors = FakeMirrors(partitions, links)

    def names(self, response: Any) -> list[tuple[str, int]]:
        """Return the partitions of a response."""
        return [(topic.name, p.partition_index) for topic in response.topics for p in topic.partitions]

    def test_interface(self) -> None:
        """A broker without links tells nothing."""
        self.assertTrue(verifyObject(IMirrorStatus, self.broker.mirrors))
        response = self.ask_for()
        self.assertEqual(
            (response.error_code, response.links, response.topics, response.next_cursor), (0, [], [], None)
        )

    def test_every_field(self) -> None:
        """A client gets each field as the broker has it."""
        other = MirrorStatus("dc1", "a", 0, "mirroring")
        self.show([FULL, other], [LINK, LinkStatus("dc0", "c:1")])
        pages = ReportPages(-1)
        self.assertIsNone(pages.take(self.ask_for()))
        self.assertEqual(pages.report().partitions, (other, FULL))
        self.assertEqual(pages.report().links, (LinkStatus("dc0", "c:1"), LINK))

    def test_filter(self) -> None:
        """Only the links and topics that are asked for are told; empty lists ask for none."""
        self.show(
            [MirrorStatus("dc1", "a", 0, "paused"), MirrorStatus("dc2", "b", 0, "paused")],
            [LINK, LinkStatus("dc2", "c:1")],
        )
        self.assertEqual(self.names(self.ask_for()), [("a", 0), ("b", 0)])
        found = self.ask_for(links=["dc2", "dc3"])
        self.assertEqual((self.names(found), [link.name for link in found.links]), ([("b", 0)], ["dc2"]))
        found = self.ask_for(topics=["a"])
        self.assertEqual((self.names(found), len(found.links)), ([("a", 0)], 2))
        self.assertEqual((self.names(self.ask_for(links=[])), self.ask_for(links=[]).links), ([], []))
        self.assertEqual(self.names(self.ask_for(topics=[])), [])

    def test_pages(self) -> None:
        """Pages follow each other in order, and together have each partition once."""
        every = [MirrorStatus("dc1", topic, n, "mirroring") for topic in "ab" for n in range(12)]
        self.show(every[::-1])
        for limit in (1, 5, 12, 24, 25):
            found, cursor = [], None
            for _ in range(30):
                response = self.ask_for(response_partition_limit=limit, cursor=cursor)
                names = self.names(response)
                self.assertLessEqual(len(names), limit)
                found += names
                cursor = response.next_cursor
                if cursor is None:
                    break
            self.assertEqual(found, [(status.topic, status.partition) for status in every])

    def test_cursor_between(self) -> None:
        """A cursor of a partition that is gone continues with the next one."""
        self.show([MirrorStatus("dc1", name, 0, "paused") for name in "ac"])
        self.assertEqual(self.names(self.ask_for(cursor=Cursor("b", 3))), [("c", 0)])
        self.assertEqual(self.names(self.ask_for(cursor=Cursor("c", 1))), [])

    def test_most(self) -> None:
        """No page has more than 2,000 partitions, whatever is asked for; none has less than one."""
        self.show([MirrorStatus("dc1", "a", n, "paused") for n in range(2001)])
        response = self.ask_for(response_partition_limit=2**31 - 1)
        self.assertEqual(len(self.names(response)), 2000)
        self.assertEqual((response.next_cursor.topic_name, response.next_cursor.partition_index), ("a", 2000))
        refused = self.ask_for(response_partition_limit=0)
        self.assertEqual((refused.error_code, refused.topics), (ErrorCode.INVALID_REQUEST, []))
        self.assertIn("response_partition_limit=0", refused.error_message)

    def test_unlisted(self) -> None:
        """ApiVersions does not list it, although the broker answers it."""
        keys = {key.api_key for key in self.ask(18, 3, ApiVersionsRequest()).api_keys}
        self.assertNotIn(10100, keys)
        self.assertIn(75, keys)
