"""The nodes of a cluster as a controller would read them, and the transactions on them."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence

import attrs

from kafkatx.interfaces.nodes import Create, Operation, Outcome
from kafkatx.metadata.controller.pieces import TopicNodes
from kafkatx.metadata.controller.reconcile import NO_TOPIC_ID
from kafkatx.metadata.layout import partition_states, paths, topics
from kafkatx.metadata.layout.configs import decode_configs
from kafkatx.metadata.tree.nodes import Node, Transaction
from kafkatx.types import NO_LEADER, BrokerNode, ClusterState, PartitionState, Topic


class NodeReader:
    """The cluster's state in a table of nodes.

    :ivar nodes: the nodes by path.
    """

    def __init__(self, nodes: dict[str, Node]) -> None:
        self.nodes = nodes

    def children(self, path: str) -> list[str]:
        """Return the names of the children of a node."""
        return sorted(self.nodes[path].children)

    def epoch(self) -> int:
        """Return the version of ``/controller_epoch``."""
        return self.nodes[paths.CONTROLLER_EPOCH].version

    def marks(self) -> set[str]:
        """Return the topics that are marked for deletion."""
        return set(self.children(paths.DELETE_TOPICS))

    def state(self, brokers: Iterable[BrokerNode]) -> ClusterState:
        """Return the state of the cluster."""
        found = {name: self.topic(name) for name in self.children(paths.TOPICS)}
        return ClusterState("c", 1, {each.id: each for each in brokers}, found)

    def topic(self, name: str) -> Topic:
        """Return one topic; NO_TOPIC_ID is the id of one without."""
        node = self.nodes[paths.topic(name)]
        content = topics.decode(paths.topic(name), node.data)
        states = tuple(
            attrs.evolve(
                self.partition(name, number, replicas),
                adding=content.adding_replicas.get(number, ()),
                removing=content.removing_replicas.get(number, ()),
            )
            for number, replicas in enumerate(content.partitions)
        )
        config = self.nodes.get(paths.config(f"topics/{name}"))
        return Topic(
            name,
            content.topic_id or NO_TOPIC_ID,
            states,
            decode_configs("", config.data) if config else {},
            version=node.version,
        )

    def partition(self, name: str, number: int, replicas: tuple[int, ...]) -> PartitionState:
        """Return one partition."""
        path = paths.state(name, number)
        node = self.nodes.get(path)
        if node is None:
            return PartitionState(NO_LEADER, -1, replicas, (), -1)
        return partition_states.decode(path, node.data).state(replicas, node.version, node.mzxid)

    def topic_nodes(self, names: Iterable[str]) -> Mapping[str, TopicNodes]:
        """Return the nodes of some topics."""
        found = {}
        for name in names:
            parent = self.nodes.get(paths.partitions(name))
            numbers = map(int, parent.children) if parent else ()
            found[name] = TopicNodes(
                config=paths.config(f"topics/{name}") in self.nodes,
                parent=parent is not None,
                partitions={number: paths.state(name, number) in self.nodes for number in numbers},
            )
        return found


class NodeModel(NodeReader):
    """A table of nodes that transactions change."""

    def __init__(self) -> None:
        super().__init__({"/": Node(b"", 0, 0)})
        self.zxid = 0
        self.make([Create(path) for path in paths.PERSISTENT if path not in self.nodes])
        self.make([Create(paths.CONTROLLER_EPOCH, b"1")])

    def make(self, operations: Sequence[Operation]) -> tuple[Outcome, ...]:
        """Make all of some operations, or none.

        :raises OperationError: one of them cannot be made.
        """
        outcomes = Transaction(self.nodes, self.zxid + 1, 1).make(operations)
        self.zxid += 1
        return outcomes

    def copy(self) -> NodeModel:
        """Return another model with the same nodes."""
        return copy.deepcopy(self)
