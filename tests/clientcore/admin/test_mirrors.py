"""Tests of the requests and replies about mirrors."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.admin.mirror_status import LinkStatus, MirrorStatus
from kafkatx.clientcore.admin.mirrors import (
    NoMirrors,
    ReportPages,
    describe_request,
    link_entry,
    partition_entry,
)
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.wire.codec import decode, encode
from kafkatx.wire.messages.describe_mirrors import Cursor, DescribeMirrorsResponse, MirrorTopic

LINK = LinkStatus("dc1", "b1:9092", "no broker", 5, 2, 4000, "refused", 3)
FULL = MirrorStatus(
    "dc1", "a", 1, "failed", "why", 4, True, 6, 7, 3, 10, 50, 11, 40, 39, 1234, 99, 5000, 17, 3
)
"""Statuses with another value in each field, of broker 3."""

GOLDEN = (
    "00000000"  # throttle time
    "0000"  # error
    "00"  # message
    "02"  # one link
    "04646331" + "0862313a39303932" + "0a6e6f2062726f6b6572"  # name, source, error
    "00000005" + "00000002" + "0000000000000fa0" + "0872656675736564" + "00"  # groups
    "02"  # one topic
    "0261" + "04646331"  # name, link
    "02"  # one partition
    "00000001" + "076661696c6564" + "04776879" + "00000004" + "01" + "00000006"
    "00000007" + "00000003"  # leader and epoch at the source
    "000000000000000a" + "0000000000000032"  # start and end at the source
    "000000000000000b" + "0000000000000028" + "0000000000000027"  # start, end, high watermark
    "00000000000004d2" + "0000000000000063"  # lag in ms, bytes
    "0000000000001388" + "0000000000000011" + "00"  # producer id, open transaction
    "00"  # tags of the topic
    "01" + "0262" + "00000003" + "00"  # the next page
    "00"
)
"""The bytes of a response, written down by hand."""


class MessageTests(SynchronousTestCase):
    def response(self) -> DescribeMirrorsResponse:
        """Return a response with something in each field."""
        return DescribeMirrorsResponse(
            links=[link_entry(LINK)],
            topics=[MirrorTopic("a", "dc1", [partition_entry(FULL)])],
            next_cursor=Cursor("b", 3),
        )

    def test_golden(self) -> None:
        """The bytes of a response stay as they are: clients and brokers of different versions meet."""
        self.assertEqual(encode(self.response(), 0).hex(), GOLDEN)
        self.assertEqual(decode(DescribeMirrorsResponse, 0, bytes.fromhex(GOLDEN)), self.response())

    def test_every_field(self) -> None:
        """A status is the same after its way through a response."""
        pages = ReportPages(3)
        self.assertEqual(pages.take(self.response()), Cursor("b", 3))
        report = pages.report()
        self.assertEqual((report.links, report.partitions), ((LINK,), (FULL,)))

    def test_request(self) -> None:
        """Links and topics are asked for in order; None stands for all."""
        request = describe_request({"b", "a"}, None, Cursor("t", 1))
        self.assertEqual((request.links, request.topics, request.cursor), (["a", "b"], None, Cursor("t", 1)))

    def test_pages_end(self) -> None:
        """A broker that repeats a page for ever is not asked for ever."""
        pages = ReportPages(3)
        self.assertIsNotNone(pages.take(self.response()))
        self.assertIsNone(pages.take(self.response()))

    def test_refusal(self) -> None:
        """An error names the broker and its reason."""
        refused = DescribeMirrorsResponse(
            error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED, error_message="who are you"
        )
        error = self.assertRaises(RequestError, ReportPages(3).take, refused)
        self.assertIn("mirrors of broker 3", str(error))

    def test_no_mirrors(self) -> None:
        """The error for another kind of broker says what to do, and is final."""
        error = NoMirrors("host:9092")
        self.assertIn("only brokers of kafkatx have links", str(error))
        self.assertFalse(error.code.retriable)
