"""The contract of metadata stores of a cluster: what one broker does the others see, and which may act."""

from kafkatx.testing.contracts.cluster.contract import ClusterStoreContract

__all__ = ["ClusterStoreContract"]
