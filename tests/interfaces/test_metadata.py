"""The embedded coordinator provides the interface of coordinators."""

from __future__ import annotations

from twisted.internet.defer import execute
from twisted.trial.unittest import SynchronousTestCase
from zope.interface.verify import verifyClass, verifyObject

from kafkatx.config import BrokerConfig
from kafkatx.interfaces import IMetadataStore
from kafkatx.metadata.embedded.store import EmbeddedMetadataStore


class CoordinatorTests(SynchronousTestCase):
    def test_class(self) -> None:
        """It has the methods, with their arguments."""
        self.assertTrue(verifyClass(IMetadataStore, EmbeddedMetadataStore))

    def test_object(self) -> None:
        """An object that the factory has made has the attributes, too, before it is started."""
        config = BrokerConfig.load(None, {"log.dirs": self.mktemp()})
        made = EmbeddedMetadataStore(config, lambda name: execute, False)
        self.assertTrue(verifyObject(IMetadataStore, made))
        self.assertEqual(made.generation, 0)
