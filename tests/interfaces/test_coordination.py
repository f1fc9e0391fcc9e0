"""The embedded coordinator provides the interface of coordinators."""

from __future__ import annotations

from twisted.internet.defer import execute
from twisted.trial.unittest import SynchronousTestCase
from zope.interface.verify import verifyClass, verifyObject

from kafkatx.config import BrokerConfig
from kafkatx.coordination.embedded import EmbeddedCoordinator
from kafkatx.interfaces import ICoordinator


class CoordinatorTests(SynchronousTestCase):
    def test_class(self) -> None:
        """It has the methods, with their arguments."""
        self.assertTrue(verifyClass(ICoordinator, EmbeddedCoordinator))

    def test_object(self) -> None:
        """An object that the factory has made has the attributes, too, before it is started."""
        config = BrokerConfig.load(None, {"log.dirs": self.mktemp()})
        made = EmbeddedCoordinator(config, lambda name: execute, False)
        self.assertTrue(verifyObject(ICoordinator, made))
        self.assertEqual(made.generation, 0)
