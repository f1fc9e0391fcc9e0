"""The controller writes what is needed, corrects what it knew wrongly, and pauses where it is refused."""

from __future__ import annotations

from collections.abc import Sequence

from twisted.internet.defer import Deferred, fail

from kafkatx.errors import ErrorCode, RequestError
from kafkatx.interfaces.nodes import Check, Create, Delete, Operation, Outcome, Refused, SetData
from kafkatx.metadata.cluster.control import controller as controller_module
from kafkatx.metadata.cluster.control.controller import MOST_CONFLICTS, MOST_PAUSE_S
from kafkatx.metadata.cluster.control.options import ControllerOptions
from kafkatx.metadata.cluster.state.draft import Draft
from kafkatx.metadata.cluster.state.image import ControllerFacts
from kafkatx.metadata.cluster.state.loader import MakeWatch
from kafkatx.metadata.controller import pieces as pieces_module
from kafkatx.metadata.layout import paths
from kafkatx.types import ALL_BROKERS, BrokerNode, ElectionKind, TopicPartition
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

    def test_overtaken_by_leaders(self) -> None:
        """States that leaders write meanwhile are read again, and all are written without a pause."""
        self.result(self.store.create_topic("t", [[2, 1]] * 40, {}))
        tree, attempts = self.tree(self.store), list[tuple[float, int]]()
        multi = tree.multi

        def late(operations: Sequence[Operation]) -> Deferred[tuple[Outcome, ...]]:
            many = sum(isinstance(each, SetData) and each.path.endswith("/state") for each in operations)
            if many:
                attempts.append((self.clock.seconds(), many))
                if len(attempts) <= 5:
                    path = f"/brokers/topics/t/partitions/{5 * len(attempts)}/state"
                    data = self.read(path)
                    self.write(SetData(path, data.replace(b'"isr":[2,1]', b'"isr":[1,2]')))
            return multi(operations)

        self.patch(tree, "multi", late)
        self.result(self.other.stop())
        self.stores.advance(0.5)
        states = self.store.state.topics["t"].partitions
        self.assertEqual({(each.leader, each.leader_epoch, each.isr) for each in states}, {(1, 1, (1,))})
        self.assertLess(attempts[-1][0] - attempts[0][0], 0.1)
        self.assertEqual([size for _, size in attempts], [40, 40, 40, 40, 31, 16, 24])

    def test_overtaken_for_ever(self) -> None:
        """A transaction that another change overtakes each time is tried again after pauses only."""
        self.result(self.store.create_topic("t", [[2, 1]], {}))
        tree, attempts = self.tree(self.store), list[float]()
        multi = tree.multi

        def late(operations: Sequence[Operation]) -> Deferred[tuple[Outcome, ...]]:
            if any(each.path.endswith("/state") for each in operations):
                attempts.append(self.clock.seconds())
                self.write(SetData(STATE, self.read(STATE)))
            return multi(operations)

        self.patch(tree, "multi", late)
        self.result(self.other.stop())
        self.stores.advance(20.0)
        self.assertLess(len(attempts), 10 * (MOST_CONFLICTS + 1))
        tree.multi = multi  # type: ignore[method-assign]
        self.stores.advance(MOST_PAUSE_S)
        self.assertIn(b'"leader":1', self.read(STATE))

    def test_registered_again(self) -> None:
        """A write that names a broker which has registered again meanwhile is decided anew."""
        self.result(self.store.create_topic("t", [[2, 1]], {}))
        third = self.started(3)
        self.result(third.create_topic("u", [[3, 1]], {}))
        tree, checks = self.tree(self.store), list[bytes]()
        multi = tree.multi

        def late(operations: Sequence[Operation]) -> Deferred[tuple[Outcome, ...]]:
            path = paths.incarnation(1)
            if not checks and any(isinstance(each, Check) and each.path == path for each in operations):
                checks.append(self.read(path))
                self.write(SetData(path, checks[0].replace(b'"stopping":false', b'"stopping":true')))
            return multi(operations)

        self.patch(tree, "multi", late)
        self.result(third.stop())
        self.stores.advance(0.5)
        self.assertTrue(checks)
        self.assertTrue(self.store.state.brokers[1].stopping)
        self.assertEqual(self.store.state.topics["t"].partitions[0].isr, (2,))
        self.assertEqual(self.store.state.topics["u"].partitions[0].leader, 1)

    def test_preferred_leader(self) -> None:
        """The controller elects preferred leaders on request; others say that they are not the controller."""
        self.result(self.store.create_topic("t", [[1, 2], [2, 1]], {}))
        self.write_state(0, 2, 1)
        asked = [TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("t", 2)]
        found = self.result(self.store.elect_leaders(ElectionKind.PREFERRED, asked))
        self.assertEqual(
            [error and error.code for error in (found[one] for one in asked)],
            [None, ErrorCode.ELECTION_NOT_NEEDED, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION],
        )
        state = self.store.state.topics["t"].partitions[0]
        self.assertEqual((state.leader, state.leader_epoch, state.isr), (1, 2, (1, 2)))
        for refused in (
            self.other.elect_leaders(ElectionKind.PREFERRED, None),
            self.other.reassign({asked[0]: [2]}),
        ):
            error = self.failureResultOf(refused, RequestError).value
            self.assertIs(error.code, ErrorCode.NOT_CONTROLLER)

    def test_unclean_election(self) -> None:
        """An unclean election on request elects a live replica; a config of the topic does so, too."""
        self.result(self.store.create_topic("t", [[2, 1]], {}))
        self.result(self.store.create_topic("u", [[2, 1]], {"unclean.leader.election.enable": "true"}))
        for name in ("t", "u"):
            self.write_state(0, 2, 1, "2", name)
        self.result(self.other.stop())
        self.stores.advance(1.0)
        leaders = [self.store.state.topics[name].partitions[0].leader for name in ("t", "u")]
        self.assertEqual(leaders, [-1, 1])
        found = self.result(self.store.elect_leaders(ElectionKind.UNCLEAN, None))
        self.assertEqual(found, {TopicPartition("t", 0): None})
        state = self.store.state.topics["t"].partitions[0]
        self.assertEqual((state.leader, state.isr, state.recovering), (1, (1,), True))

    def test_unclean_elections_are_allowed(self) -> None:
        """A partition gets a leader when unclean elections are allowed for all topics, at once."""
        self.result(self.store.create_topic("t", [[2, 1]], {}))
        self.write_state(0, 2, 1, "2")
        self.result(self.other.stop())
        self.stores.advance(1.0)
        self.assertEqual(self.store.state.topics["t"].partitions[0].leader, -1)
        change = {"unclean.leader.election.enable": "true"}
        self.result(self.store.alter_broker_configs(ALL_BROKERS, lambda _: change))
        self.stores.advance(1.0)
        self.assertEqual(self.store.state.topics["t"].partitions[0].leader, 1)

    def test_offline(self) -> None:
        """Another replica leads when the leader reports that its log dir has failed."""
        self.result(self.store.create_topic("t", [[2, 1], [2, 1]], {}))
        self.result(self.other.report_offline([TopicPartition("t", 1)]))
        self.stores.advance(1.0)
        found = [(each.leader, each.isr) for each in self.store.state.topics["t"].partitions]
        self.assertEqual(found, [(2, (2, 1)), (1, (1,))])

    def test_request_overtaken(self) -> None:
        """A request is answered by what was done, also if some of its transactions were tried again."""
        for module in (controller_module, pieces_module):
            self.patch(module, "MOST_STATES", 1)
        self.patch(controller_module, "FEWEST_STATES", 1)
        self.result(self.store.create_topic("t", [[1, 2]] * 3, {}))
        for number in range(3):
            self.write_state(number, 2, 1)
        tree, attempts = self.tree(self.store), list[str]()
        multi = tree.multi

        def late(operations: Sequence[Operation]) -> Deferred[tuple[Outcome, ...]]:
            paths_set = [each.path for each in operations if isinstance(each, SetData)]
            attempts.extend(paths_set)
            if len(attempts) == 2:
                self.write(SetData(paths_set[0], self.read(paths_set[0])))
            return multi(operations)

        self.patch(tree, "multi", late)
        asked = [TopicPartition("t", number) for number in range(3)]
        found = self.result(self.store.elect_leaders(ElectionKind.PREFERRED, asked))
        self.assertEqual(found, dict.fromkeys(asked))
        numbers = [int(path.split("/")[5]) for path in attempts if path.endswith("/state")]
        self.assertEqual(numbers, [0, 1, 1, 2])

    def test_reassignment(self) -> None:
        """Replicas are reassigned on request: the partition moves when the target is in sync."""
        self.result(self.store.create_topic("t", [[1], [1]], {}))
        one, two = TopicPartition("t", 0), TopicPartition("t", 1)
        found = self.result(self.store.reassign({one: [2], two: [9]}))
        error = found[two]
        assert error is not None
        self.assertEqual((found[one], error.code), (None, ErrorCode.INVALID_REPLICA_ASSIGNMENT))
        state = self.other.state.topics["t"].partitions[0]
        self.assertEqual((state.replicas, state.adding, state.removing), ((2, 1), (2,), (1,)))
        self.write_state(0, 1, 0, "1,2")
        state = self.other.state.topics["t"].partitions[0]
        self.assertEqual((state.replicas, state.isr, state.leader), ((2,), (2,), 2))
        self.assertEqual((state.adding, state.removing), ((), ()))

    def test_cancelled_reassignment(self) -> None:
        """A reassignment is cancelled on request, and takes the added replica out of the ISR."""
        self.result(self.store.create_topic("t", [[1]], {}))
        one = TopicPartition("t", 0)
        third = self.started(3)
        self.assertEqual(self.result(self.store.reassign({one: [2, 3]})), {one: None})
        self.write_state(0, 1, 0, "1,2")
        self.assertEqual(self.result(self.store.reassign({one: None})), {one: None})
        state = third.state.topics["t"].partitions[0]
        self.assertEqual((state.replicas, state.isr, state.leader_epoch), ((1,), (1,), 0))

    def test_role_ends(self) -> None:
        """Requests that wait fail with NOT_CONTROLLER when the role ends."""
        self.result(self.store.create_topic("t", [[1]], {}))
        tree = self.tree(self.store)
        multi = tree.multi

        def refuse(operations: Sequence[Operation]) -> Deferred[tuple[Outcome, ...]]:
            if any(each.path == "/brokers/topics/t" for each in operations):
                return fail(Refused(operations[0].path, operations[0], 0, "no"))
            return multi(operations)

        self.patch(tree, "multi", refuse)
        waiting = self.store.reassign({TopicPartition("t", 0): [2]})
        self.stores.advance(1.0)
        self.assertNoResult(waiting)
        self.write(Delete("/controller"))
        self.stores.advance(1.0)
        error = self.failureResultOf(waiting, RequestError).value
        self.assertIs(error.code, ErrorCode.NOT_CONTROLLER)

    def test_request_refused(self) -> None:
        """A request whose writes the server refuses is answered in the end."""
        self.result(self.store.create_topic("t", [[1]], {}))
        tree = self.tree(self.store)
        multi = tree.multi

        def refuse(operations: Sequence[Operation]) -> Deferred[tuple[Outcome, ...]]:
            if any(each.path == "/brokers/topics/t" for each in operations):
                return fail(Refused(operations[0].path, operations[0], 0, "no"))
            return multi(operations)

        self.patch(tree, "multi", refuse)
        one = TopicPartition("t", 0)
        error = self.result(self.store.reassign({one: [2]}))[one]
        assert error is not None
        self.assertIs(error.code, ErrorCode.REQUEST_TIMED_OUT)

    def write_state(
        self, partition: int, leader: int, leader_epoch: int, isr: str = "1,2", topic: str = "t"
    ) -> None:
        """Write a state with its change record, as a leader does."""
        path = f"/brokers/topics/{topic}/partitions/{partition}/state"
        stat = self.stat(path)
        assert stat is not None
        content = b'{"version":1,"leader":%d,"leader_epoch":%d,"controller_epoch":1,"isr":[%s]}'
        data = content % (leader, leader_epoch, isr.encode())
        states = b'[["%s",%d,%s,%d]]' % (topic.encode(), partition, data, stat.version + 1)
        record = b'{"version":1,"by":"b1","states":%s}' % states
        self.write(SetData(path, data), Create(paths.CHANGE_PREFIX, record, sequential=True))
        self.stores.advance(1.0)

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


class BalanceTests(RunningCase):
    def test_given_back(self) -> None:
        """The controller gives partitions back to a broker that is in sync again, after the interval."""
        store = self.stores.make_store()
        options = ControllerOptions(balance_interval_s=60.0)
        self.patch(store._controller._balance, "_options", options)
        self.result(store.start(BrokerNode(1, "host1", 9092)))
        self.addCleanup(lambda: self.result(store.stop()))
        self.result(store.register(["directory-1"]))
        self.started(2)
        self.result(store.create_topic("t", [[1, 2]], {}))
        data = b'{"version":1,"leader":2,"leader_epoch":1,"controller_epoch":1,"isr":[2,1]}'
        record = b'{"version":1,"by":"b1","states":[["t",0,%s,1]]}' % data
        self.write(SetData(STATE, data), Create(paths.CHANGE_PREFIX, record, sequential=True))
        self.stores.advance(50.0)
        self.assertEqual(store.state.topics["t"].partitions[0].leader, 2)
        self.stores.advance(15.0)
        self.assertEqual(store.state.topics["t"].partitions[0].leader, 1)
