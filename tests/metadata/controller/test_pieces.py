"""Tests of the transactions of the controller: their operations, their size, and a stop after any of them."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from random import Random

import attrs
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.interfaces.nodes import BadVersion, Check, Create, NoNode, OperationError, SetData
from kafkatx.metadata.controller import pieces as pieces_module
from kafkatx.metadata.controller.pieces import Piece, TopicNodes, named, pieces
from kafkatx.metadata.controller.reconcile import NO_TOPIC_ID, reconcile
from kafkatx.metadata.controller.writes import StateWrite
from kafkatx.metadata.layout import changes, partition_states, paths
from kafkatx.metadata.layout.topics import TopicNode
from kafkatx.types import BrokerNode, ClusterState, PartitionState
from tests.metadata.controller.node_model import NodeModel

TOPIC_ID = uuid.UUID(int=7)
SEEDS = 150


def broker(number: int, epoch: int = 0) -> BrokerNode:
    """Return a live broker."""
    return BrokerNode(number, "h", 9092, None, epoch)


def create(
    model: NodeModel, name: str, *replicas: tuple[int, ...], topic_id: uuid.UUID | None = TOPIC_ID
) -> None:
    """Create a topic as a broker does: its config and its node."""
    node = TopicNode(topic_id, replicas)
    model.make([Create(paths.config(f"topics/{name}")), Create(paths.topic(name), node.encode())])


def mark(model: NodeModel, name: str) -> None:
    """Mark a topic for deletion."""
    model.make([Create(paths.deleted_topic(name))])


def planned(
    model: NodeModel, state: ClusterState, nodes: Mapping[str, TopicNodes] | None = None
) -> Iterator[Piece]:
    """Return the transactions that a state needs."""
    writes = reconcile(state, model.marks(), new_topic_id=lambda: TOPIC_ID)
    return pieces(writes, state.topics, model.epoch() + 1, model.epoch(), nodes or {})


def settle(model: NodeModel, *brokers: BrokerNode) -> list[Piece]:
    """Make all transactions until none is needed; return them."""
    made = []
    while needed := list(planned(model, model.state(brokers))):
        for piece in needed:
            model.make(piece.operations)
        made += needed
        assert len(made) < 1000
    return made


class OperationTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make the nodes of an empty cluster."""
        self.model = NodeModel()

    def names(self, piece: Piece) -> list[str]:
        """Return the operations of a transaction, shortened."""
        found = []
        for each in piece.operations:
            version = f" {each.version}" if isinstance(each, Check | SetData) else ""
            found.append(f"{type(each).__name__} {each.path}{version}")
        return found

    def test_first_states(self) -> None:
        """The first states are made with their parents, between the check of the epoch and the record."""
        create(self.model, "T", (1,), (1,))
        (piece,) = planned(self.model, self.model.state([broker(1)]))
        topic = "Create /brokers/topics/T/partitions"
        expected = ["Check /controller_epoch 0", topic]
        for number in (0, 1):
            expected += [f"{topic}/{number}", f"{topic}/{number}/state"]
        self.assertEqual(self.names(piece), [*expected, "Create /kafkatx/changes/c-"])
        record = piece.operations[-1]
        assert isinstance(record, Create) and record.sequential
        self.assertEqual((len(piece.writes), piece.topics), (2, {"T"}))

    def test_next_states(self) -> None:
        """A later state replaces the one of the partition epoch that the controller has seen."""
        create(self.model, "T", (1,), (2,))
        settle(self.model, broker(1), broker(2))
        (piece,) = planned(self.model, self.model.state([broker(1)]))
        state = "SetData /brokers/topics/T/partitions/1/state 0"
        self.assertEqual(
            self.names(piece), ["Check /controller_epoch 0", state, "Create /kafkatx/changes/c-"]
        )

    def test_added_partition(self) -> None:
        """The state of an added partition is made below the parent that is there."""
        create(self.model, "T", (1,))
        settle(self.model, broker(1))
        node = TopicNode(TOPIC_ID, ((1,), (1,)))
        self.model.make([SetData(paths.topic("T"), node.encode(), 0)])
        (piece,) = settle(self.model, broker(1))
        created = ["Create /brokers/topics/T/partitions/1", "Create /brokers/topics/T/partitions/1/state"]
        self.assertEqual(self.names(piece)[1:-1], created)

    def test_content(self) -> None:
        """The record has the states as the nodes have them, with the epoch of the controller."""
        create(self.model, "T", (2, 1))
        (piece,) = settle(self.model, broker(1))
        (name,) = self.model.children(paths.CHANGES)
        path = f"{paths.CHANGES}/{name}"
        record = changes.decode(path, self.model.nodes[path].data)
        self.assertEqual((record.by, record.states), ("c1", piece.record.states))
        state = self.model.nodes[paths.state("T", 0)]
        self.assertEqual(
            [(each.topic, each.partition, each.partition_epoch) for each in record.states],
            [("T", 0, state.version)],
        )
        node = partition_states.decode("", state.data)
        self.assertEqual(record.states[0].node, node)
        self.assertEqual((node.leader, node.leader_epoch, node.controller_epoch, node.isr), (1, 0, 1, (1,)))

    def test_deletion(self) -> None:
        """A topic that is still marked is deleted from the bottom up: its node last, and then the mark."""
        create(self.model, "T", (1,), (3,))
        settle(self.model, broker(1))
        mark(self.model, "T")
        (piece,) = settle(self.model, broker(1))
        topic = "/brokers/topics/T"
        expected = ["Check /controller_epoch 0", "Check /admin/delete_topics/T -1"]
        expected += [f"Delete {topic}/partitions{each}" for each in ("/0/state", "/0", "")]
        expected += ["Delete /config/topics/T", f"Delete {topic}", "Delete /admin/delete_topics/T"]
        expected += ["SetData /kafkatx/deletions -1", "Create /kafkatx/changes/c-"]
        self.assertEqual(self.names(piece), expected)
        self.assertEqual((piece.record.deleted, piece.record.deleting), ([("T", TOPIC_ID)], []))

    def test_unmarked(self) -> None:
        """A topic that is not marked any more is not deleted: the transaction fails."""
        create(self.model, "T", (1,))
        mark(self.model, "T")
        (piece,) = planned(self.model, self.model.state([broker(1)]))
        del self.model.nodes[paths.deleted_topic("T")]
        self.assertRaises(NoNode, self.model.make, piece.operations)

    def test_changed_before_its_deletion(self) -> None:
        """A topic whose node has changed since the controller has seen it is not deleted."""
        create(self.model, "T", (1,))
        mark(self.model, "T")
        (piece,) = planned(self.model, self.model.state([broker(1)]))
        self.model.make([SetData(paths.topic("T"), TopicNode(TOPIC_ID, ((1,), (1,))).encode(), 0)])
        self.assertRaises(BadVersion, self.model.make, piece.operations)

    def test_mark_without_a_topic(self) -> None:
        """The mark of no topic is deleted, and the record tells of it."""
        mark(self.model, "T")
        (piece,) = settle(self.model)
        self.assertEqual(
            self.names(piece)[-2:], ["Delete /admin/delete_topics/T", "Create /kafkatx/changes/c-"]
        )
        self.assertEqual(piece.record.deleted, [("T", NO_TOPIC_ID)])

    def test_topic_id(self) -> None:
        """A topic gets an id in the version of its node that the controller has seen."""
        create(self.model, "T", (1,), topic_id=None)
        needed = list(planned(self.model, self.model.state([])))
        self.model.make([SetData(paths.topic("T"), TopicNode(None, ((1,), (1,))).encode())])
        self.assertRaises(BadVersion, self.model.make, needed[0].operations)
        (piece,) = settle(self.model)
        self.assertEqual(self.model.topic("T").topic_id, TOPIC_ID)
        change = piece.record.topics["T"]
        assert change is not None
        self.assertEqual((change.topic_id, change.version, change.partitions), (TOPIC_ID, 2, ((1,), (1,))))

    def test_incarnations(self) -> None:
        """The incarnation of each broker that the states name is checked once in a transaction."""
        create(self.model, "T", (1, 2), (2, 1))
        settle(self.model, broker(1), broker(2))
        state = self.model.state([broker(2)])
        writes = reconcile(state, ())
        self.assertEqual(named(writes), {2})
        writes = [*writes, StateWrite("T", 0, PartitionState(1, 0, (1, 2), (3,), 1, eligible=(4,)))]
        self.assertEqual(named(writes), {1, 2, 3, 4})
        (piece,) = pieces(writes, state.topics, 1, 0, versions={1: 7, 2: 0, 3: 5, 5: 5})
        checks = [f"Check /kafkatx/incarnations/{each}" for each in ("1 7", "2 0", "3 5")]
        self.assertEqual(self.names(piece)[:4], ["Check /controller_epoch 0", *checks])

    def test_registered_again(self) -> None:
        """A state that names a broker is not written once it has registered again."""
        create(self.model, "T", (1,))
        self.model.make([Create(paths.incarnation(1))])
        (piece,) = pieces(
            reconcile(self.model.state([broker(1)]), ()), self.model.state([]).topics, 1, 0, versions={1: 0}
        )
        self.model.make([SetData(paths.incarnation(1), b"")])
        self.assertRaises(BadVersion, self.model.make, piece.operations)

    def test_deletions(self) -> None:
        """A transaction that deletes topics sets the mark of deletions once; one of marks does not."""
        for name in ("T", "U"):
            create(self.model, name, (1,))
            mark(self.model, name)
        settle(self.model)
        self.assertEqual(self.model.nodes[paths.DELETIONS].version, 1)
        mark(self.model, "V")
        settle(self.model)
        self.assertEqual(self.model.nodes[paths.DELETIONS].version, 1)

    def test_reassignment(self) -> None:
        """The end of a reassignment writes the topic's node and the state together; unknown keys stay."""
        create(self.model, "T", (1, 2), (1,))
        settle(self.model, broker(1), broker(2))
        path, data = paths.topic("T"), self.model.nodes[paths.state("T", 0)].data
        moving = TopicNode(TOPIC_ID, ((2, 1), (1,)), {0: (2,)}, {0: (1,)})
        self.model.make([SetData(path, moving.encode())])
        self.model.make([SetData(paths.state("T", 0), data[:-1] + b',"x":[1]}')])
        (piece,) = settle(self.model, broker(1), broker(2))
        state = f"{path}/partitions/0/state"
        self.assertEqual(self.names(piece)[1:-1], [f"SetData {path} 1", f"SetData {state} 1"])
        found = self.model.topic("T").partitions[0]
        self.assertEqual((found.replicas, found.adding, found.removing), ((2,), (), ()))
        self.assertEqual((found.leader, found.isr, found.others), (2, (2,), {"x": [1]}))
        change = piece.record.topics["T"]
        assert change is not None
        self.assertEqual((change.version, change.partitions, change.adding), (2, ((2,), (1,)), {}))
        self.assertEqual([each.partition for each in piece.record.states], [0])

    def test_another_controller(self) -> None:
        """Nothing is written once another controller has raised the epoch."""
        create(self.model, "T", (1,))
        create(self.model, "U")
        create(self.model, "V", (1,), topic_id=None)
        mark(self.model, "U")
        mark(self.model, "W")
        self.patch(pieces_module, "MOST_BYTES", 1)
        needed = list(planned(self.model, self.model.state([broker(1)])))
        self.assertEqual(len(needed), 5)
        self.model.make([SetData(paths.CONTROLLER_EPOCH, b"2", 0)])
        for piece in needed:
            self.assertRaises(BadVersion, self.model.make, piece.operations)


class SizeTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make the nodes of an empty cluster."""
        self.model = NodeModel()

    def test_states(self) -> None:
        """A transaction has at most 500 states."""
        create(self.model, "T", *[(1,)] * 1201)
        made = settle(self.model, broker(1))
        self.assertEqual([len(piece.record.states) for piece in made], [500, 500, 201])

    def test_growth(self) -> None:
        """Transactions that begin small grow to their full size."""
        create(self.model, "T", *[(1,)] * 2000)
        state = self.model.state([broker(1)])
        made = pieces(reconcile(state, ()), state.topics, 1, 0, most_states=100)
        self.assertEqual([len(piece.record.states) for piece in made], [100, 200, 400, 500, 500, 300])

    def test_deletions(self) -> None:
        """A transaction deletes at most 500 partitions; its record names the topics that are not done."""
        create(self.model, "T", *[(1,)] * 1000)
        settle(self.model, broker(1))
        mark(self.model, "T")
        first, last = settle(self.model, broker(1))
        self.assertEqual((first.record.deleting, first.record.deleted, first.writes), (["T"], [], ()))
        self.assertEqual((last.record.deleting, last.record.deleted), ([], [("T", TOPIC_ID)]))
        self.assertEqual(len(first.operations), 2 + 2 * 500 + 1)

    def test_bytes(self) -> None:
        """Transactions and records are bounded with the longest names and large ISRs, and are not smaller."""
        for name, replicas in (("n" * 249, (1,)), ("n", tuple(range(2**31 - 200, 2**31)))):
            create(self.model, name, *[replicas] * 2000)
            topic = self.model.topic(name)
            partitions = tuple(
                attrs.evolve(each, leader=5, leader_epoch=3, isr=replicas, partition_epoch=2)
                for each in topic.partitions
            )
            state = attrs.evolve(
                self.model.state([]), topics={name: attrs.evolve(topic, partitions=partitions)}
            )
            made = list(planned(self.model, state))
            self.assertEqual(sum(len(piece.record.states) for piece in made), 2000)
            sizes = []
            for piece in made:
                data = [each.data for each in piece.operations if isinstance(each, Create | SetData)]
                sizes.append(sum(map(len, data)) + sum(len(each.path) for each in piece.operations))
                self.assertLess(len(data[-1]), changes.MOST_BYTES)
            self.assertLess(max(sizes), pieces_module.MOST_BYTES)
            if len(made[0].writes) < pieces_module.MOST_STATES:
                self.assertGreater(min(sizes[:-1]), pieces_module.MOST_BYTES * 0.9)


class Damaged:
    """Nodes of a cluster that stopped anywhere, some of them made by others: seeded."""

    def __init__(self, seed: int) -> None:
        self.random = random = Random(seed)
        self.model = model = NodeModel()
        everybody = [broker(number) for number in range(1, 5)]
        for number in range(random.randint(1, 4)):
            replicas = [
                tuple(random.sample(range(1, 5), random.choice((1, 1, 2))))
                for _ in range(random.randint(1, 6))
            ]
            topic_id = uuid.UUID(int=number + 1) if random.random() < 0.8 else None
            create(model, f"t{number}", *replicas, topic_id=topic_id)
        settle(model, *random.sample(everybody, random.randint(0, 4)))
        for name in (*model.children(paths.TOPICS), "t7"):
            if random.random() < 0.5:
                mark(model, name)
            if name != "t7" and random.random() < 0.5:
                self.damage(name)
        self.brokers = [
            broker(number, random.choice((0, model.zxid)))
            for number in random.sample(range(1, 5), random.randint(0, 4))
        ]

    def damage(self, name: str) -> None:
        """Delete some nodes of a topic, and make others that are not expected."""
        model, random = self.model, self.random
        for number in range(8):
            partition, state = paths.partition(name, number), paths.state(name, number)
            if state in model.nodes and random.random() < 0.3:
                model.nodes.pop(state)
                model.nodes[partition].children.clear()
            if partition in model.nodes and not model.nodes[partition].children and random.random() < 0.5:
                model.nodes.pop(partition)
                model.nodes[paths.partitions(name)].children.discard(str(number))
            elif (
                paths.partitions(name) in model.nodes
                and partition not in model.nodes
                and random.random() < 0.3
            ):
                model.make([Create(partition)])
        if paths.partitions(name) not in model.nodes and random.random() < 0.5:
            model.make([Create(paths.partitions(name))])
        if random.random() < 0.3:
            model.nodes.pop(paths.config(f"topics/{name}"))
            model.nodes["/config/topics"].children.discard(name)

    def run(self, model: NodeModel, stop: int | None = None) -> int:
        """Be a controller until all is quiet, or until *stop* transactions were made; return their number.

        The nodes of a topic are read only after a transaction has failed.
        """
        made = 0
        known: dict[str, TopicNodes] = {}
        for _ in range(200):
            state = model.state(self.brokers)
            needed = list(planned(model, state, known))
            if not needed:
                return made
            known = {}
            for piece in needed:
                if made == stop:
                    return made
                try:
                    model.make(piece.operations)
                except OperationError:
                    known = dict(model.topic_nodes(piece.topics & set(state.topics)))
                    break
                self.check(model)
                made += 1
        raise AssertionError("no end")

    def check(self, model: NodeModel) -> None:
        """Check what holds after each transaction: below a topic that is gone there is nothing."""
        names = set(model.children(paths.TOPICS))
        for path in model.nodes:
            if path.startswith((f"{paths.TOPICS}/", "/config/topics/")):
                assert path.split("/")[3] in names, path

    def result(self, model: NodeModel) -> dict[str, object]:
        """Return all that matters at the end."""
        state = model.state(self.brokers)
        assert not model.marks()
        assert all(topic.topic_id != NO_TOPIC_ID for topic in state.topics.values())
        return {
            name: [
                (each.leader, each.leader_epoch, each.isr, each.partition_epoch) for each in topic.partitions
            ]
            for name, topic in state.topics.items()
        }


class StopTests(SynchronousTestCase):
    def test_stops(self) -> None:
        """The end is the same wherever a controller stops and the next one goes on."""
        self.patch(pieces_module, "MOST_STATES", 2)
        stops = 0
        for seed in range(SEEDS):
            damaged = Damaged(seed)
            whole = damaged.model.copy()
            many = damaged.run(whole)
            expected = damaged.result(whole)
            for stop in range(many):
                model = damaged.model.copy()
                self.assertEqual(damaged.run(model, stop), stop)
                model.make([SetData(paths.CONTROLLER_EPOCH, b"2", 0)])
                damaged.run(model)
                self.assertEqual(damaged.result(model), expected, f"seed {seed}, stop {stop}")
                stops += 1
        self.assertGreater(stops, SEEDS)
