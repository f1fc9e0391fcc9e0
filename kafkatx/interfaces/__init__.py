"""Every interface of the house: what a part promises to the floors above it, and to third parties.

Contract tests that any implementation can run stand in :mod:`kafkatx.testing.contracts`. How an
implementation is made known stands in :mod:`kafkatx.extension`; the arguments its factory is called with
stand here, under "Factory".
"""

from kafkatx.interfaces.client import IAssignor, IBalancer, IEventHandler, IProducerCallbacks
from kafkatx.interfaces.coordination import ConfigChange, ICoordinator
from kafkatx.interfaces.serialization import IConfigurable, IDecoder, IEncoder, IPartitioner, IRowDecoder
from kafkatx.interfaces.storage import (
    IAppended,
    ILogDir,
    ILogStore,
    IPartitionLog,
    IRetentionPolicy,
    ISegmentFacts,
)
from kafkatx.interfaces.workers import Worker, Workers

__all__ = [
    "ConfigChange",
    "IAppended",
    "IAssignor",
    "IBalancer",
    "IConfigurable",
    "ICoordinator",
    "IDecoder",
    "IEncoder",
    "IEventHandler",
    "ILogDir",
    "ILogStore",
    "IPartitionLog",
    "IPartitioner",
    "IProducerCallbacks",
    "IRetentionPolicy",
    "IRowDecoder",
    "ISegmentFacts",
    "Worker",
    "Workers",
]
