"""Rules of the cluster taken out of the code, one by one; the simulation must notice each.

A mutant replaces a piece of the source of a function, and the function's code by what that compiles to: so
it does not matter which modules have imported the function. If the source has changed, the mutant says so and
must be mended.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from types import FunctionType
from typing import Any

from attrs import frozen

from kafkatx.metadata.cluster.commands import isr
from kafkatx.metadata.cluster.commands.isr import IsrCommands
from kafkatx.metadata.cluster.control.controller import Controller
from kafkatx.metadata.cluster.control.election import Election
from kafkatx.metadata.cluster.fence import Fence
from kafkatx.metadata.cluster.state.change_log import new_sequences
from kafkatx.metadata.cluster.state.draft import Draft
from kafkatx.metadata.cluster.state.follower import Follower
from kafkatx.metadata.controller import leaders, pieces, reconcile
from kafkatx.metadata.layout import incarnations
from kafkatx.nodes import BrokerProcess
from kafkatx.types import ClusterState


@frozen
class Edit:
    """One change of the source.

    :ivar function: the function or method that keeps the rule.
    :ivar old: a part of its source, which is there once.
    :ivar new: the text in its place.
    """

    function: Callable[..., Any]
    old: str
    new: str


@contextmanager
def edited(function: Callable[..., Any], edits: Sequence[Edit]) -> Iterator[None]:
    """Make the edits of one function for a while.

    :raises ValueError: the source of the function is not as it was when this mutant was written.
    """
    assert isinstance(function, FunctionType)
    source = textwrap.dedent(inspect.getsource(function))
    for edit in edits:
        if source.count(edit.old) != 1:
            raise ValueError(f"{function.__qualname__} does not have {edit.old!r} once: mend this mutant")
        source = source.replace(edit.old, edit.new)
    names: dict[str, Any] = {}
    exec(
        compile(f"from __future__ import annotations\n{source}", "<mutant>", "exec"),
        dict(function.__globals__),
        names,
    )
    original, made = function.__code__, names[function.__name__]
    getter: Any = made.fget if isinstance(made, property) else made
    function.__code__ = getter.__code__
    try:
        yield
    finally:
        function.__code__ = original


@frozen
class Mutant:
    """A rule that is taken out.

    :ivar rule: the rule.
    """

    rule: str
    edits: tuple[Edit, ...]

    @contextmanager
    def alive(self) -> Iterator[None]:
        """Take the rule out for a while."""
        with ExitStack() as made:
            for function in dict.fromkeys(edit.function for edit in self.edits):
                edits = [edit for edit in self.edits if edit.function is function]
                made.enter_context(edited(function, edits))
            yield


MUTANTS = {
    "controller-epoch": Mutant(
        "each transaction of the controller checks /controller_epoch",
        (Edit(pieces._piece, "[Check(paths.CONTROLLER_EPOCH, epoch_version)]", "[]"),),
    ),
    "revision-leads": Mutant(
        "a broker leads only what was given to it since it registered",
        (Edit(ClusterState.leads, "and partition.revision > node.epoch", ""),),
    ),
    "revision-rewritten": Mutant(
        "the controller rewrites the states of a broker that has registered again",
        (
            Edit(leaders.Replicas.is_settled, "and partition.revision > epoch", ""),
            Edit(leaders._changed, "and (node is None or old.revision > node.epoch)", ""),
        ),
    ),
    "only-newer": Mutant(
        "the state of a partition is taken only if it is newer",
        (Edit(Draft.change_state, "if zxid > known.revision:", "if True:"),),
    ),
    "reconnected": Mutant(
        "all is read again after each lost connection",
        (Edit(Follower._run, "await self._load()", "await self._tree.sync()"),),
    ),
    "lease": Mutant(
        "a broker acts only while it has the lease",
        (Edit(Fence.remaining_s, "return self._tree.lease_remaining_s()", "return 1000.0"),),
    ),
    "lease-without-timer": Mutant(
        "a broker is fenced when its lease ends",
        (Edit(Fence._ended, "self.evaluate()", "pass"),),
    ),
    "gap": Mutant(
        "if the last record that was applied is gone, all is read again",
        (Edit(new_sequences, "applied != NO_CHANGE and applied not in numbers", "False"),),
    ),
    "marks-first": Mutant(
        "a topic that is marked for deletion gets no leaders",
        (
            Edit(
                reconcile.reconcile,
                "            writes.append(TopicDeletion(topic))\n        else:\n",
                "            writes.append(TopicDeletion(topic))\n        if True:\n",
            ),
        ),
    ),
    "isr-incarnations": Mutant(
        "a change of in-sync replicas checks the incarnations of the members",
        (Edit(IsrCommands._checks, "image.deletions), *checks]", "image.deletions)]"),),
    ),
    "isr-deletions": Mutant(
        "a change of in-sync replicas checks that no topic was deleted meanwhile",
        (Edit(IsrCommands._checks, "[Check(paths.DELETIONS, image.deletions), *checks]", "checks"),),
    ),
    "isr-in-doubt": Mutant(
        "a change of in-sync replicas whose reply was lost is read back",
        (Edit(IsrCommands._plan, "if number in call.doubtful and is_made(change, state):", "if False:"),),
    ),
    "isr-past-life": Mutant(
        "a member of which fetches were counted in a past life is refused",
        (Edit(isr._is_member, "change.epochs.get(member, -1)", "node.epoch"),),
    ),
    "live-past-life": Mutant(
        "a process takes over from a past life only if it has the locks of that",
        (Edit(BrokerProcess.has_taken, "held.issuperset(other.locks.values())", "True"),),
    ),
    "stale-lives": Mutant(
        "the logs of a broker must continue its last registered life",
        (Edit(incarnations.stale_dirs, "last not in record.lives or not", "not"),),
    ),
    "copied-life": Mutant(
        "a copy that was made while the logs were open does not continue their life",
        (Edit(incarnations.stale_dirs, "(record.original or directory_id in past.closed)", "True"),),
    ),
    "stale-replicas": Mutant(
        "no broker is elected by a state from before it came with the logs of an earlier life",
        (Edit(leaders.Replicas.is_stale, "if not self.state.stale_epochs:", "if True:"),),
    ),
    "election-in-doubt": Mutant(
        "an election whose reply was lost is read back",
        (
            Edit(
                Election._stand,
                "await self._tree.multi([Create(paths.CONTROLLER, node.encode(), ephemeral=True), raising])",
                "made = await self._tree.multi(\n"
                "        [Create(paths.CONTROLLER, node.encode(), ephemeral=True), raising])\n"
                "    self._tree.won = getattr(made[1], 'mzxid', None)",
            ),
            Edit(
                Controller._role,
                "if facts.elects(self._tree.session_id)",
                "if facts.elects(self._tree.session_id)"
                " and getattr(self._tree, 'won', -1) in (None, facts.czxid)",
            ),
        ),
    ),
}
"""The mutants by name."""
