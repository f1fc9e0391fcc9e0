"""The node of a partition's state, ``/brokers/topics/T/partitions/0/state``. Pure.

``{"version":1,"leader":1,"leader_epoch":0,"controller_epoch":1,"isr":[1,2,3]}``; leader -1 is no leader, and
``"leader_recovery_state":1`` is there only while the leader recovers from an unclean election (KIP-704). The
node's version is the partition epoch (``kafka.zk.TopicPartitionStateZNode``). kafkatx adds
``"kafkatx_eligible":[2]``, the brokers that may lead although they are not in sync (KIP-966), if there are
some. The controller and the leader write states.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import attrs

from kafkatx.metadata.layout.fields import Fields, encode, parse
from kafkatx.types import PartitionState

VERSION = 1
ELIGIBLE = "kafkatx_eligible"
_KNOWN = frozenset(
    {"version", "leader", "leader_epoch", "controller_epoch", "isr", "leader_recovery_state", ELIGIBLE}
)
_NOTHING: Mapping[str, object] = MappingProxyType({})


@attrs.frozen
class StateNode:
    """The content of the state node of a partition.

    :ivar leader: a broker id; -1 if there is none.
    :ivar controller_epoch: epoch of the controller that wrote it.
    :ivar recovering: the leader recovers from an unclean election.
    :ivar eligible: brokers that have all committed records although they are not in sync.
    :ivar others: keys that kafkatx does not know; they stay when it is written again.
    """

    leader: int
    leader_epoch: int
    controller_epoch: int
    isr: tuple[int, ...]
    recovering: bool = False
    eligible: tuple[int, ...] = ()
    others: Mapping[str, object] = _NOTHING

    @classmethod
    def of(cls, state: PartitionState, controller_epoch: int) -> StateNode:
        """Return the node of a state; ``state.others`` are in it."""
        return cls(
            state.leader,
            state.leader_epoch,
            controller_epoch,
            state.isr,
            state.recovering,
            state.eligible,
            state.others,
        )

    def state(
        self,
        replicas: tuple[int, ...],
        partition_epoch: int,
        revision: int,
        adding: tuple[int, ...] = (),
        removing: tuple[int, ...] = (),
    ) -> PartitionState:
        """Return the state of the partition.

        :param replicas: those of the topic's node, as are *adding* and *removing*.
        :param partition_epoch: the node's version.
        :param revision: its mzxid.
        """
        return PartitionState(
            self.leader,
            self.leader_epoch,
            replicas,
            self.isr,
            partition_epoch,
            revision,
            adding,
            removing,
            self.eligible,
            self.recovering,
            self.others,
        )

    def members(self) -> dict[str, object]:
        """Return the keys and values of the node."""
        members: dict[str, object] = {
            "version": VERSION,
            "leader": self.leader,
            "leader_epoch": self.leader_epoch,
            "controller_epoch": self.controller_epoch,
            "isr": self.isr,
        }
        if self.recovering:
            members["leader_recovery_state"] = 1
        if self.eligible:
            members[ELIGIBLE] = self.eligible
        return members | dict(self.others)

    def encode(self) -> bytes:
        """Return the content of the node."""
        return encode(self.members())


def decode(path: str, data: bytes) -> StateNode:
    """Read the content of a state node.

    :raises UnreadableNode: it is not a state of version 1.
    """
    return read(parse(path, data))


def read(fields: Fields) -> StateNode:
    """Read a state from the keys of its node.

    :raises UnreadableNode: as :func:`decode`.
    """
    fields.version(VERSION, VERSION)
    others = {key: value for key, value in fields.members.items() if key not in _KNOWN}
    return StateNode(
        leader=fields.integer("leader"),
        leader_epoch=fields.integer("leader_epoch", lowest=0),
        controller_epoch=fields.integer("controller_epoch", lowest=0),
        isr=fields.integers("isr"),
        recovering=fields.integer("leader_recovery_state", lowest=0, highest=1, default=0) == 1,
        eligible=fields.integers(ELIGIBLE) if ELIGIBLE in fields else (),
        others=MappingProxyType(others) if others else _NOTHING,
    )
