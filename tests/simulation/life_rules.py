"""The invariants of the lives of a broker: two processes, copies of its data, and old ones.

*   No process registers as a broker while another one that is this broker lives and has its session.
*   The controller counts no broker as in sync by a state from before its registration with data that are not
    those of its last life. Only an unclean election may make it the leader, and says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self

from kafkatx.interfaces.nodes import Create, Operation
from kafkatx.metadata.layout import paths
from kafkatx.metadata.layout.partition_states import StateNode
from kafkatx.types import TopicPartition
from tests.metadata.cluster.lives import LifeDisk
from tests.simulation.isr_rules import Violation
from tests.simulation.process import Process
from tests.simulation.server import OPERATOR, SimulatedServer, Transaction


class DataDisk(LifeDisk):
    """The disk of a broker, with the truth about its data.

    :ivar life: the number of the registration whose data it has, all of them; -1: they are not whole.
    :ivar clean: False if the machine has gone down since the disk was used.
    :ivar used: the process that has it in use.
    """

    def __init__(self, broker_id: int) -> None:
        super().__init__(f"directory-{broker_id}")
        self.broker_id = broker_id
        self.life = 0
        self.clean = True
        self.used: Process | None = None

    def copy(self) -> Self:
        """Return a copy; that of a disk in use lacks what is written after that."""
        other = super().copy()
        if self.used is not None and self.used.alive:
            other.life = -1
        return other


class LifeRules:
    """Checks registrations, and the writes of controllers.

    :ivar processes: the processes by name.
    """

    def __init__(self, server: SimulatedServer) -> None:
        self._server = server
        self.processes: dict[str, Process] = {}
        self._sessions: dict[int, int] = {}
        self._registrations: dict[int, int] = {}
        self._stale: dict[int, int] = {}
        self._revisions: dict[TopicPartition, tuple[int, StateNode]] = {}

    def registered(self, transaction: Transaction, operations: Sequence[Operation]) -> None:
        """Check the registrations in a transaction.

        :raises Violation: an invariant does not hold any more.
        """
        for each in operations:
            broker_id = paths.parse_broker(each.path)
            if not isinstance(each, Create) or broker_id is None:
                continue
            process = self.processes[self._server.owners[transaction.session_id]]
            past = self._sessions.get(broker_id)
            if past is not None and self._server.has_session(past):
                other = self.processes[self._server.owners[past]]
                if other is not process and other.alive:
                    raise Violation(f"{process.name} takes the place of {other.name}, which lives")
            self._sessions[broker_id] = transaction.session_id
            last, disk = self._registrations.get(broker_id, 0), process.disk
            if disk.life != last:
                self._stale[broker_id] = transaction.zxid
            self._registrations[broker_id] = disk.life = last + 1

    def check(
        self, transaction: Transaction, states: Mapping[TopicPartition, StateNode], leads: bool
    ) -> None:
        """Check the states of a transaction.

        :param leads: True if a leader has made it.
        :raises Violation: an invariant does not hold any more.
        """
        for one, state in states.items():
            new = self._server.nodes[paths.state(*one)].version == 0  # of a topic that was made again, too
            revision, before = (0, state) if new else self._revisions[one]
            if not new and not leads and transaction.session_id != OPERATOR and not state.recovering:
                for member in {*state.isr, *state.eligible} & {*before.isr, *before.eligible}:
                    if revision <= self._stale.get(member, -1):
                        raise Violation(
                            f"{one} gets {state} after {before}: broker {member} has come with other data"
                        )
            self._revisions[one] = transaction.zxid, state
