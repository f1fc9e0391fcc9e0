"""The interfaces of kafkatx's parts, for the parts that use them and for plugins of third parties.

:mod:`kafkatx.testing.contracts` has contract tests that any implementation can run.
:mod:`kafkatx.extension` describes how an implementation is installed as a plugin. "Factory" in an interface's
docstring gives the arguments of a plugin's factory.
"""

from kafkatx.interfaces.client import IAssignor, IBalancer, IEventHandler, IProducerCallbacks
from kafkatx.interfaces.log_dirs import DirectoryChanges, Expected
from kafkatx.interfaces.metadata import ConfigChange, IMetadataStore
from kafkatx.interfaces.mirror import IRecordFilter
from kafkatx.interfaces.security.authorizer import IAuthorizer, ILearning
from kafkatx.interfaces.serialization import (
    IBatchDecoder,
    IConfigurable,
    IDecoder,
    IEncoder,
    IHeaderEncoder,
    IPartitioner,
    IPreparing,
    IRegistryCoder,
    IRegistryDecoder,
    IRegistryEncoder,
    IRowDecoder,
)
from kafkatx.interfaces.storage import (
    IAppended,
    IIncomingLog,
    ILogDir,
    ILogStore,
    INeedsValidation,
    IPartitionLog,
    IRetentionPolicy,
    ISegmentFacts,
)
from kafkatx.interfaces.tree import ITree
from kafkatx.interfaces.workers import Worker, Workers

__all__ = [
    "ConfigChange",
    "DirectoryChanges",
    "Expected",
    "IAppended",
    "IAssignor",
    "IAuthorizer",
    "IBalancer",
    "IBatchDecoder",
    "IConfigurable",
    "IMetadataStore",
    "IDecoder",
    "IEncoder",
    "IEventHandler",
    "IHeaderEncoder",
    "IIncomingLog",
    "ILearning",
    "ILogDir",
    "ILogStore",
    "INeedsValidation",
    "IPartitionLog",
    "IPartitioner",
    "IPreparing",
    "IProducerCallbacks",
    "IRecordFilter",
    "IRegistryCoder",
    "IRegistryDecoder",
    "IRegistryEncoder",
    "IRetentionPolicy",
    "IRowDecoder",
    "ISegmentFacts",
    "ITree",
    "Worker",
    "Workers",
]
