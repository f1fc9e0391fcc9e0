"""The image tells who is the controller, and what only the controller sees."""

from __future__ import annotations

import uuid

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.metadata.cluster.state.image import ControllerFacts, Image, no_state
from kafkatx.types import ClusterState, Topic


class ImageTests(SynchronousTestCase):
    def test_elected(self) -> None:
        """A session is elected only if the transaction that made its node has raised the epoch."""
        facts = ControllerFacts(1, 7, 50, 3, 2, 50)
        self.assertEqual([facts.elects(7), facts.elects(8), facts.elects(None)], [True, False, False])
        self.assertFalse(ControllerFacts(1, 7, 50, 4, 3, 60).elects(7))

    def test_whole_state(self) -> None:
        """The controller sees topics that have no id yet; others do not."""
        topic = Topic("t", uuid.UUID(int=0), (no_state([1]),))
        image = Image(ClusterState("c", -1), unidentified={"t": topic})
        self.assertEqual((image.state.topics, image.whole_state().topics), ({}, {"t": topic}))

    def test_no_state(self) -> None:
        """A partition without a state has no leader, no epoch and no ISR."""
        state = no_state([1, 2])
        self.assertEqual(
            (state.leader, state.leader_epoch, state.replicas, state.isr, state.partition_epoch),
            (-1, -1, (1, 2), (), -1),
        )
