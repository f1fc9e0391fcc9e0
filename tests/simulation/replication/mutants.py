"""Rules of replication taken out of the code, one by one; the simulation must notice each.

The numbers are those of the races that the rules prevent: see docs/design.md. What a mutant is,
:mod:`tests.simulation.mutants` says.
"""

from __future__ import annotations

from kafkatx.broker.replica.manager import ReplicaManager
from kafkatx.types import ClusterState
from tests.simulation.mutants import Edit, Mutant

MUTANTS = {
    "12-lease": Mutant(
        "a broker writes only while it has the lease",
        (
            Edit(
                ReplicaManager._write,
                "if lease_remaining_s is not None and staged and lease_remaining_s() <= 0:",
                "if False:",
            ),
        ),
    ),
    "16-revision": Mutant(
        "a broker leads only what was given to it since it registered",
        (Edit(ClusterState.leads, "and partition.revision > node.epoch", ""),),
    ),
}
"""The mutants by name."""
