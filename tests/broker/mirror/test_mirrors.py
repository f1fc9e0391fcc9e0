"""A broker that mirrors topics of another cluster, from the outside: what its logs get, and what it says."""

from __future__ import annotations

import sys

from zope.interface.verify import verifyObject

from kafkatx.broker.mirror.status import IMirrorStatus
from tests.broker.mirror.case import MirrorCase
from tests.broker.running import BrokerTestCase


class MirrorsTests(MirrorCase):
    def test_interface(self) -> None:
        """The mirrors of a broker tell their status."""
        self.assertTrue(verifyObject(IMirrorStatus, self.broker.mirrors))


class NoMirrorsTests(BrokerTestCase):
    def test_nothing(self) -> None:
        """A broker without links has no manager, and says nothing."""
        before = {name for name in sys.modules if "mirror.manager" in name}
        self.broker.mirrors.start()
        self.make_topic("plain")
        self.assertEqual((self.broker.mirrors.status(), self.broker.mirrors.links()), ((), ()))
        self.assertEqual({name for name in sys.modules if "mirror.manager" in name}, before)
        self.successResultOf(self.broker.mirrors.stop())
