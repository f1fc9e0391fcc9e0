"""Assignors, callbacks, event handlers and balancers that come with kafkatx provide their interfaces."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase
from zope.interface.verify import verifyClass, verifyObject

from kafkatx.client.hooks import EventHandler, ProducerCallbacks
from kafkatx.client.legacy.group_balancer import GroupBalancer
from kafkatx.clientcore.group.assignors import factories
from kafkatx.interfaces import IAssignor, IBalancer, IEventHandler, IProducerCallbacks

ASSIGNORS = (
    factories.range_assignor,
    factories.round_robin_assignor,
    factories.sticky_assignor,
    factories.cooperative_sticky_assignor,
)


class ClientTests(SynchronousTestCase):
    def test_assignors(self) -> None:
        """Each assignor provides the interface under a name of its own; one is cooperative."""
        made = [factory() for factory in ASSIGNORS]
        for one in made:
            self.assertTrue(verifyObject(IAssignor, one, tentative=True))
        self.assertEqual(len({one.name for one in made}), len(made))
        self.assertEqual([one.name for one in made if one.cooperative], ["cooperative-sticky"])

    def test_hooks(self) -> None:
        """The hooks without effect have all methods: an application overrides some."""
        self.assertTrue(verifyClass(IProducerCallbacks, ProducerCallbacks))
        self.assertTrue(verifyClass(IEventHandler, EventHandler))

    def test_balancer(self) -> None:
        """The balancer with the group protocol provides the interface."""
        self.assertTrue(verifyClass(IBalancer, GroupBalancer))
