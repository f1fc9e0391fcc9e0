"""The metadata store of a cluster, on a tree in memory: its contracts for one broker and for several."""

from __future__ import annotations

from typing import TypeVar

from twisted.internet.defer import Deferred

from kafkatx.errors import ErrorCode, RequestError
from kafkatx.testing.contracts.cluster import ClusterStoreContract
from kafkatx.testing.contracts.metadata_store import MetadataStoreContract
from tests.metadata.cluster.memory import MemoryCase, MemoryClusterCase

T = TypeVar("T")


class StoreTests(MemoryCase, MetadataStoreContract):
    """The contract of metadata stores."""

    def failure_code(self, deferred: Deferred[T]) -> ErrorCode:
        """Return the code of the RequestError with which a Deferred fails."""
        try:
            found = self.result(deferred)
        except RequestError as error:
            return error.code
        raise self.failureException(f"RequestError expected, but the result is {found!r}")


class ClusterTests(MemoryClusterCase, ClusterStoreContract):
    """The contract of several stores."""
