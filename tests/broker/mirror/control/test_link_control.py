"""The control of one link: its rounds, and its status."""

from __future__ import annotations

from kafkatx.broker.mirror.control.link_control import LinkControl
from tests.broker.mirror.control.case import CONFIGS, GROUPS, ControlCase


class LinkControlTests(ControlCase):
    def control(self) -> LinkControl:
        """Return the control of the link."""
        controller = self.brokers[self.controller].broker.mirrors._controller
        assert controller is not None
        return controller._links["dc1"]

    def test_intervals(self) -> None:
        """Topics and groups have intervals of their own."""
        self.alter(refresh_interval_ms="1000", groups_interval_ms="4000")
        self.link()
        self.advance(2)
        before = len(self.source.requests(CONFIGS)), len(self.source.requests(GROUPS))
        self.advance(8)
        after = len(self.source.requests(CONFIGS)), len(self.source.requests(GROUPS))
        self.assertIn(after[0] - before[0], (7, 8))
        self.assertIn(after[1] - before[1], (2, 4))  # two brokers each

    def test_other_settings(self) -> None:
        """Settings that leave source and client as they are keep the connections; others open new ones."""
        self.link()
        control = self.control()
        self.alter(rate_bytes="1000")
        self.advance(1)
        self.assertIs(self.control(), control)
        self.assertEqual(control.settings.rate_bytes, 1000)
        self.alter(request_timeout_ms="5000")
        self.advance(1)
        self.assertIsNot(self.control(), control)

    def test_bad_client(self) -> None:
        """Settings of the client that contradict the rest are told, and nothing breaks."""
        for servers, why in (("a:x", "cannot be used: see"), ("", "mirror.dc1.bootstrap.servers is not set")):
            self.alter(bootstrap_servers=servers, topics=".*")
            self.advance(2)
            (status,) = self.brokers[self.controller].broker.mirrors.links()
            self.assertIn(why, status.error)
        self.link()
        self.assertIn("t", self.brokers[self.controller].metadata.state.topics)

    def test_stops(self) -> None:
        """A removed link leaves no request and no connection behind."""
        self.link()
        self.run_to_end(self.brokers[1].metadata.alter_broker_configs("", lambda old: {}))
        self.advance(2)
        before = len(self.source.requests(3))
        self.advance(10)
        self.assertEqual(len(self.source.requests(3)), before)
        self.assertEqual([link for link in self.network.links if max(link.brokers) > 100], [])
