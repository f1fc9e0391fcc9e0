"""All parts of the contract of metadata stores of a cluster."""

from __future__ import annotations

from kafkatx.testing.contracts.cluster.changes import ChangesContract
from kafkatx.testing.contracts.cluster.faults import FaultsContract
from kafkatx.testing.contracts.cluster.replicas import ReplicasContract


class ClusterStoreContract(ChangesContract, FaultsContract, ReplicasContract):
    """Mixin for a ``twisted.trial.unittest.TestCase``."""
