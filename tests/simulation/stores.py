"""The invariants of what the brokers believe, checked after each step, and of a cluster at rest.

*   At most one broker acts as the leader of a partition, in whatever epoch. It is the leader in the state's
    node, in the same epoch, unless the topic is gone. A broker that was live when its partition was given to
    another may act until it knows that.
*   A broker that acts has a session: its lease ends before the session can. One without a lease is fenced.
*   A broker never shows an earlier state of a partition after a later one.
*   In each leader epoch only one registration of a broker has acted.
*   At rest every broker has the state of the nodes. Each partition is led that can be, and nothing is left to
    delete.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from attrs import evolve

from kafkatx.metadata.controller.reconcile import NO_TOPIC_ID
from kafkatx.metadata.layout import brokers, partition_states, paths
from kafkatx.metadata.layout.incarnations import decode_incarnation, decode_offline
from kafkatx.metadata.layout.partition_states import StateNode
from kafkatx.types import BrokerNode, ClusterDelta, TopicPartition
from tests.metadata.controller.node_model import NodeReader
from tests.simulation.isr_rules import IsrRules
from tests.simulation.process import Process
from tests.simulation.server import SimulatedServer
from tests.simulation.transactions import Violation

LATE_S = 0.001
"""Seconds by which a timer may be late, as numbers are rounded."""


class StoreRules:
    """Checks the states of processes against each other and the nodes."""

    def __init__(self, server: SimulatedServer, isr: IsrRules) -> None:
        self._server = server
        self._isr = isr
        self._reader = NodeReader(server.nodes)
        self._topic_ids: dict[int, uuid.UUID] = {}
        self._leaders: dict[int, dict[tuple[str, int], StateNode]] = {}
        self._acted: dict[tuple[uuid.UUID, int, int], tuple[int, int]] = {}

    def check(self, processes: Sequence[Process]) -> None:
        """Check what the processes believe now.

        :raises Violation: an invariant does not hold any more.
        """
        leaders: dict[tuple[uuid.UUID, int], str] = {}
        for process in processes:
            if process.runs and not process.store.state.fenced and process.remaining_s() < -LATE_S:
                raise Violation(f"{process.name} has no lease and is not fenced")
            if not process.led() or not process.acts():
                continue
            session_id = process.tree.session_id
            if session_id is None or not self._server.has_session(session_id):
                raise Violation(f"{process.name} acts, but its session has ended")
            epoch = process.store.state.brokers[process.broker_id].epoch
            for topic_id, name, number, state in process.led():
                what = f"{name}-{number} in leader epoch {state.leader_epoch}"
                moved = (topic_id, number, state.leader_epoch) in self._isr.moved
                if not moved:
                    other = leaders.setdefault((topic_id, number), process.name)
                    if other != process.name:
                        raise Violation(f"{other} and {process.name} act as leaders of {what}")
                life = (process.broker_id, epoch)
                first = self._acted.setdefault((topic_id, number, state.leader_epoch), life)
                if first != life:
                    raise Violation(
                        f"{process.name}, epoch {epoch}, leads {what}, in which broker {first[0]},"
                        f" epoch {first[1]}, has led"
                    )
                if not moved:
                    self._check_node(process, topic_id, name, number, state.leader_epoch)

    def shown(self, process: Process, delta: ClusterDelta) -> None:
        """Check a change of what a process believes.

        :raises Violation: a partition is in an earlier state again.
        """
        for name in delta.topics:
            before, after = delta.before.topics.get(name), delta.after.topics.get(name)
            if before is not None and after is not None and before.topic_id == after.topic_id:
                for number, (old, new) in enumerate(zip(before.partitions, after.partitions, strict=False)):
                    if new.revision < old.revision:
                        raise Violation(f"{process.name} has {name}-{number} in {new} after {old}")

    def _check_node(
        self, process: Process, topic_id: uuid.UUID, name: str, number: int, leader_epoch: int
    ) -> None:
        topic, state = (
            self._server.nodes.get(path) for path in (paths.topic(name), paths.state(name, number))
        )
        if topic is None or state is None:
            return
        if self._topic_ids.get(topic.mzxid) is None:
            self._topic_ids[topic.mzxid] = self._reader.topic(name).topic_id
        if self._topic_ids[topic.mzxid] != topic_id:
            return  # it is deleted, and another has its name
        node = self._leaders.get(state.mzxid, {}).get((name, number))
        if node is None:
            node = partition_states.decode("", state.data)
            self._leaders.setdefault(state.mzxid, {})[name, number] = node
        if (node.leader, node.leader_epoch) != (process.broker_id, leader_epoch):
            raise Violation(
                f"{process.name} acts as leader of {name}-{number} in leader epoch {leader_epoch}, but it is"
                f" led by {node.leader} in epoch {node.leader_epoch}"
            )

    def check_rest(self, processes: Sequence[Process]) -> None:
        """Check a cluster in which every process has run for a while without a fault.

        :raises Violation: it is not at rest.
        """
        nodes, reader = self._server.nodes, self._reader
        live = {int(name): self._broker(int(name)) for name in reader.children(paths.BROKER_IDS)}
        names = {process.broker_id for process in processes}
        if live.keys() != names:
            raise Violation(f"brokers {sorted(live)} are registered, not {sorted(names)}")
        if reader.marks():
            raise Violation(f"topics {sorted(reader.marks())} are still to be deleted")
        if paths.CONTROLLER not in nodes:
            raise Violation("there is no controller")
        expected = reader.state(live.values())
        offline = {one: self._offline(one) for one in live if paths.offline(one) in nodes}
        for name, topic in expected.topics.items():
            if topic.topic_id == NO_TOPIC_ID:
                raise Violation(f"topic {name} has no id")
            for number, each in enumerate(topic.partitions):
                node = live.get(each.leader)
                able = set(each.replicas) & (set(each.isr) or set(each.replicas)) & live.keys()
                able = {one for one in able if (name, number) not in offline.get(one, ())}
                stale = processes[0].store.state.stale_epochs
                able = set() if all(each.revision <= stale.get(one, -1) for one in each.isr) else able
                if able and (node is None or each.revision <= node.epoch):
                    raise Violation(f"no broker leads {name}-{number}: {each}")
        for process in processes:
            state = process.store.state
            if state.fenced:
                raise Violation(f"{process.name} is fenced")
            if state.brokers != live:
                raise Violation(f"{process.name} knows the brokers {state.brokers}, not {live}")
            first = processes[0].store.state
            known = (state.lost_epochs, state.stale_epochs)
            if state.offline != offline or known != (first.lost_epochs, first.stale_epochs):
                raise Violation(f"{process.name} knows {state.offline} and {state.lost_epochs}")
            if state.topics.keys() != expected.topics.keys():
                raise Violation(
                    f"{process.name} knows topics {sorted(state.topics)}, not {sorted(expected.topics)}"
                )
            for name, topic in expected.topics.items():
                if state.topics[name] != topic:
                    raise Violation(f"{process.name} knows {state.topics[name]}, not {topic}")

    def _offline(self, broker_id: int) -> frozenset[TopicPartition]:
        path = paths.offline(broker_id)
        return decode_offline(path, self._server.nodes[path].data)

    def _broker(self, broker_id: int) -> BrokerNode:
        path, own = paths.broker(broker_id), paths.incarnation(broker_id)
        node, incarnation = self._server.nodes[path], self._server.nodes[own]
        life = decode_incarnation(own, incarnation.data)
        return evolve(
            brokers.decode(broker_id, path, node.data).node(node.czxid),
            incarnation=incarnation.version - life.stopping,
            stopping=life.stopping,
            clean=life.clean,
        )
