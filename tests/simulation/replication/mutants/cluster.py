"""Rules of what brokers and the controller do with the state of the cluster, and with their own life."""

from __future__ import annotations

from kafkatx.broker.replica.leadership import Leadership
from kafkatx.broker.replica.manager import ReplicaManager
from kafkatx.broker.replica.topics import Topics
from kafkatx.log.batch_store import BatchLogStore
from kafkatx.metadata.cluster.commands import isr as isr_commands
from kafkatx.metadata.cluster.commands.isr import IsrCommands
from kafkatx.metadata.cluster.fence import Fence
from kafkatx.metadata.cluster.registration import Registration
from kafkatx.metadata.cluster.state.draft import Draft
from kafkatx.metadata.cluster.state.follower import Follower as StateFollower
from kafkatx.metadata.controller import isr, leaders, pieces
from kafkatx.metadata.layout import incarnations
from kafkatx.types import ClusterState
from tests.simulation.mutants import Edit, Mutant
from tests.simulation.replication.mutants.replicas import ABOUT_TO_JOIN

MUTANTS = {
    "8-incarnations": Mutant(
        "states are written only in the lives that their writer knows of the brokers that they name; a leader"
        " names the lives whose fetches it has counted",
        (
            Edit(
                isr_commands._is_member,
                "if node is None or node.incarnation < 0 or member not in state.replicas:\n"
                "        return False",
                "return True",
            ),
            Edit(
                isr.incarnation_checks,
                "return [Check(paths.incarnation(each), found[each]) for each in sorted(found)]",
                "return []",
            ),
        ),
    ),
    "10-reply-lost": Mutant(
        "a change of in-sync replicas whose reply was lost stays pending until the state is read",
        (
            Edit(
                IsrCommands.alter,
                "except (ConnectionLost, SessionExpired):\n",
                "except (ConnectionLost, SessionExpired):\n"
                "            for number in list(call.left):\n"
                "                call.settle(number, ErrorCode.INVALID_UPDATE_VERSION)\n",
            ),
            Edit(
                Leadership.committed_end,
                ABOUT_TO_JOIN,
                "",
            ),
        ),
    ),
    "12-lease": Mutant(
        "a broker acts only while it has the lease",
        (Edit(Fence.remaining_s, "return self._tree.lease_remaining_s()", "return 1000.0"),),
    ),
    "15-own-past-life": Mutant(
        "a broker that starts ends its past life, which is still registered",
        (
            Edit(
                Registration._attempt,
                "self._check_past_life(node.id, found[0])",
                "raise IdInUse('its past life is still registered')",
            ),
        ),
    ),
    "31-stale-logs": Mutant(
        "logs that do not continue the broker's last registered life count as in sync nowhere",
        (
            Edit(
                incarnations.stale_dirs,
                "if past.lives and all(each in emptied for each in known):",
                "if True:\n        return []\n    if past.lives and all(each in emptied for each in known):",
            ),
        ),
    ),
    "31-stale-replicas": Mutant(
        "no broker is elected by a state from before it came with the logs of an earlier life",
        (Edit(leaders.Replicas.is_stale, "if not self.state.stale_epochs:", "if True:"),),
    ),
    "16-revision": Mutant(
        "a broker leads only what was given to it since it registered",
        (Edit(ClusterState.leads, "and partition.revision > node.epoch", ""),),
    ),
    "17-clean": Mutant(
        "a broker whose machine went down is taken out of the in-sync replicas while others are left",
        (
            Edit(
                isr.is_lost,
                "if node is not None and not node.clean and state.revision <= node.epoch:\n"
                "        return True\n"
                "    return state.revision <= cluster.lost_epochs.get(broker_id, -1)",
                "return False",
            ),
        ),
    ),
    "18-controller-epoch": Mutant(
        "each transaction of the controller checks /controller_epoch",
        (Edit(pieces._piece, "[Check(paths.CONTROLLER_EPOCH, epoch_version)]", "[]"),),
    ),
    "19-reconnected": Mutant(
        "all is read again after each lost connection",
        (Edit(StateFollower._run, "await self._load()", "await self._tree.sync()"),),
    ),
    "20-only-newer": Mutant(
        "the state of a partition is taken only if it is newer",
        (Edit(Draft.change_state, "if zxid > known.revision:", "if True:"),),
    ),
    "21-topic-ids": Mutant(
        "the log of a topic that is made again is a new one",
        (
            Edit(
                BatchLogStore._create,
                "if entry is not None and entry.topic_id == topic_id:",
                "if entry is not None:",
            ),
        ),
    ),
    "21-deletions": Mutant(
        "a change of in-sync replicas is not made in another topic of the name",
        (
            Edit(
                IsrCommands._checks,
                "return [Check(paths.DELETIONS, image.deletions), *checks]",
                "return checks",
            ),
        ),
    ),
    "23-before-roles": Mutant(
        "what is staged is written before the roles change",
        (
            Edit(
                Topics._follow,
                "if self.before_roles is not None and (everything or delta.topics):",
                "if False:",
            ),
        ),
    ),
    "29-offline": Mutant(
        "the cluster is told of replicas whose log dir has failed",
        (Edit(ReplicaManager._role_changed, "if not partition.offline or", "if True or"),),
    ),
    "R8-eligible": Mutant(
        "replicas that leave too small a set of in-sync replicas stay eligible, and only they may lead",
        (
            Edit(
                leaders.next_state,
                "if eligible:",
                "eligible = replicas.able(partition.replicas, one)\n    if eligible:",
            ),
        ),
    ),
    "R10-unclean": Mutant(
        "an unclean election is made only where the topic allows it",
        (Edit(leaders.next_state, "if rules().unclean and", "if"),),
    ),
    "R10-recovering": Mutant(
        "an unclean election is said in the state",
        (Edit(leaders.elected_unclean, "recovering=True", "recovering=False"),),
    ),
}
"""The mutants by name."""
