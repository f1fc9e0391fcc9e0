"""The controller writes what is needed, corrects what it knew wrongly, and pauses where it is refused."""

from __future__ import annotations

from collections.abc import Sequence

from twisted.internet.defer import Deferred, fail

from kafkatx.interfaces.nodes import Create, Delete, Operation, Outcome, Refused, SetData
from kafkatx.metadata.cluster.control.controller import MOST_PAUSE_S
from kafkatx.metadata.cluster.state.draft import Draft
from kafkatx.metadata.cluster.state.image import ControllerFacts
from kafkatx.metadata.cluster.state.loader import MakeWatch
from kafkatx.metadata.layout import paths
from tests.metadata.cluster.cases import RunningCase

STATE = "/brokers/topics/t/partitions/0/state"


class ControllerTests(RunningCase):
    def setUp(self) -> None:
        """Start a controller and another broker."""
        super().setUp()
        self.store = self.started()
        self.other = self.started(2)

    def test_state_changed_by_another(self) -> None:
        """A state that a tool has changed is read again, and written from there."""
        self.result(self.store.create_topic("t", [[2]], {}))
        self.write(
            SetData(STATE, b'{"version":1,"leader":2,"leader_epoch":5,"controller_epoch":1,"isr":[2]}')
        )
        self.result(self.other.stop())
        self.stores.advance(2.0)
        self.assertIn(b'"leader":-1,"leader_epoch":6', self.read(STATE))

    def test_state_exists(self) -> None:
        """A state that exists although it was not known is kept."""
        self.write(
            Create(
                "/brokers/topics/t",
                b'{"version":3,"topic_id":"dGVzdHRlc3R0ZXN0dGVzdA","partitions":{"0":[2],"1":[1]}}',
            )
        )
        self.stores.advance(0.5)
        self.write(
            Create("/brokers/topics/t/partitions"),
            Create("/brokers/topics/t/partitions/0"),
            Create(STATE, b'{"version":1,"leader":2,"leader_epoch":5,"controller_epoch":1,"isr":[2]}'),
        )
        self.stores.advance(3.0)
        partitions = self.store.state.topics["t"].partitions
        self.assertEqual([(each.leader, each.leader_epoch) for each in partitions], [(2, 5), (1, 0)])

    def test_half_deleted(self) -> None:
        """A topic whose nodes are partly gone is deleted nevertheless."""
        self.result(self.store.create_topic("t", [[1], [2]], {}))
        self.write(Delete(STATE), Delete("/brokers/topics/t/partitions/0"), Delete("/config/topics/t"))
        self.result(self.store.delete_topic("t"))
        self.assertEqual(self.children("/brokers/topics"), [])
        self.assertEqual(self.children("/admin/delete_topics"), [])

    def test_many_partitions(self) -> None:
        """A topic with more partitions than one transaction takes gets all its leaders, and is deleted."""
        topic = self.result(self.other.create_topic("t", [[1], [2]] * 600, {}))
        self.assertEqual([each.leader for each in topic.partitions], [1, 2] * 600)
        self.result(self.other.delete_topic("t"))
        self.assertEqual((self.store.state.topics, self.children("/brokers/topics")), ({}, []))

    def test_new_controller_goes_on(self) -> None:
        """A new controller ends the deletion that the old one began."""
        self.result(self.store.create_topic("t", [[1], [2]], {}))
        self.tree(self.store).link.cut()
        self.write(Create("/admin/delete_topics/t"), Delete(STATE), Delete("/brokers/topics/t/partitions/0"))
        self.stores.advance(10.0)
        self.assertEqual((self.other.state.controller_id, self.other.state.topics), (2, {}))
        self.assertEqual(self.children("/brokers/topics"), [])

    def test_refused(self) -> None:
        """A controller whose writes the server refuses pauses, and goes on when they are taken."""
        tree = self.tree(self.store)
        attempts: list[float] = []
        multi = tree.multi

        def refuse(operations: Sequence[Operation]) -> Deferred[tuple[Outcome, ...]]:
            if any(each.path.endswith("/state") for each in operations):
                attempts.append(self.clock.seconds())
                return fail(Refused(operations[0].path, operations[0], 0, "no"))
            return multi(operations)

        self.patch(tree, "multi", refuse)
        topic = self.result(self.other.create_topic("t", [[1]], {}))
        self.assertEqual(topic.partitions[0].leader, -1)
        self.stores.advance(3 * MOST_PAUSE_S)
        self.assertLessEqual(len(attempts), 5)
        tree.multi = multi  # type: ignore[method-assign]
        self.stores.advance(MOST_PAUSE_S)
        self.assertEqual(self.other.state.topics["t"].partitions[0].leader, 1)

    def test_fails(self) -> None:
        """A failure of ours is logged, and the controller goes on after a pause."""

        def broken(*arguments: object) -> None:
            raise ZeroDivisionError

        patched = self.patch(self.store._controller, "_make", broken)
        self.result(self.other.create_topic("t", [[1]], {}))
        self.stores.advance(1.0)
        self.assertGreaterEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)
        patched.restore()
        self.stores.advance(MOST_PAUSE_S)
        self.flushLoggedErrors(ZeroDivisionError)
        self.assertEqual(self.other.state.topics["t"].partitions[0].leader, 1)

    def test_epoch_raised(self) -> None:
        """After its epoch is raised a controller writes no state any more."""
        self.write(SetData("/controller_epoch", b"5"))
        created = self.other.create_topic("t", [[1]], {})
        self.assertEqual(self.result(created).partitions[0].leader, -1)
        self.assertIsNone(self.stat(STATE))
        self.write(Delete("/controller"))
        self.stores.advance(2.0)
        self.assertEqual(self.other.state.topics["t"].partitions[0].leader, 1)
        self.assertEqual(self.read("/controller_epoch"), b"6")

    def test_brokers_after_the_log(self) -> None:
        """A new controller that has read of a leader, but not yet of its registration, does not depose it."""
        third = self.started(3, eligible=False)
        self.result(self.store.create_topic("t", [[3]], {}))
        follower, view = self.other._follower, self.other._view
        read = follower.loader.controller

        async def early(make_watch: MakeWatch) -> ControllerFacts | None:
            found = await read(make_watch)
            draft = Draft(view.image)
            draft.set_brokers({key: node for key, node in view.state.brokers.items() if key != 3})
            view.show(*draft.finish())
            follower.read_again(paths.BROKER_IDS)
            return found

        self.patch(follower.loader, "controller", early)
        self.result(self.store.stop())
        self.stores.advance(2.0)
        self.assertEqual(third.state.controller_id, 2)
        self.assertIn(b'"leader":3,"leader_epoch":0', self.read(STATE))
