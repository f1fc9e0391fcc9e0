"""The collector of mirrors: partitions, lag and links by name."""

from __future__ import annotations

from collections.abc import Sequence
from unittest import mock

from kafkatx.clientcore.admin.mirror_status import LinkStatus, MirrorStatus
from tests.broker.metrics.scraped import ScrapeTestCase


class MirrorCollectorTests(ScrapeTestCase):
    def test_links(self) -> None:
        """The mirrored partitions of a link are summed up, and its source is up or not."""
        status = [
            MirrorStatus("east", "t", 0, "mirroring", source_end=10, log_end=4, lag_ms=1500, bytes_copied=7),
            MirrorStatus("east", "t", 1, "mirroring", source_end=10, log_end=9, lag_ms=100, bytes_copied=2),
            MirrorStatus("west", "t", 0, "failed"),
        ]
        links: Sequence[LinkStatus] = [LinkStatus("east", "h:1"), LinkStatus("west", "h:2", "refused")]
        mirrors = self.broker.mirrors
        with (
            mock.patch.object(mirrors, "status", lambda: status),
            mock.patch.object(mirrors, "links", lambda: links),
        ):
            found = self.scrape()
        wanted = {
            "kafkatx_mirror_lag_records": 7,
            "kafkatx_mirror_max_lag_seconds": 1.5,
            "kafkatx_mirror_copied_bytes": 9,
            "kafkatx_mirror_link_up": 1,
        }
        self.assertValues(found, wanted, link="east")
        self.assertValues(found, {"kafkatx_mirror_lag_records": 0, "kafkatx_mirror_link_up": 0}, link="west")
        self.assertValues(found, {"kafkatx_mirror_partitions": 2}, link="east", state="mirroring")
        self.assertValues(found, {"kafkatx_mirror_partitions": 1}, link="west", state="failed")

    def test_none(self) -> None:
        """A broker without links has no series of them."""
        self.assertFalse([name for name in self.scrape() if name.startswith("kafkatx_mirror")])
