"""The table of demands: what a principal must be allowed to do for each API. Pure.

A row has demands, all of which must be met. Each names operations of which one is enough, and says what
happens to a client that may perform none of them:

*   ``REQUEST``: the whole request is refused with the error of the resource's type;
*   ``ENTRY``: what the request names is refused, each with that error, and the rest is served;
*   ``HIDDEN``: the reply does not have what it would otherwise tell.

A handler without a row fails a test. Sources: the table "Operations and Resources on Protocols" of Apache
Kafka's documentation, and ``kafka.server.KafkaApis``.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from types import MappingProxyType

import attrs

from kafkatx.acls import AclOperation, ResourceType
from kafkatx.errors import ErrorCode
from kafkatx.wire import api as a
from kafkatx.wire.api import Api

_O, _R = AclOperation, ResourceType

ERRORS: Mapping[ResourceType, ErrorCode] = MappingProxyType(
    {
        _R.TOPIC: ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        _R.GROUP: ErrorCode.GROUP_AUTHORIZATION_FAILED,
        _R.CLUSTER: ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        _R.TRANSACTIONAL_ID: ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    }
)
"""The error for each type of resource."""


class Outcome(enum.Enum):
    """The part of a request or reply that suffers where a demand is not met."""

    REQUEST = "the request"
    ENTRY = "each one"
    HIDDEN = "left out"


@attrs.frozen
class Right:
    """An operation on a resource.

    :ivar any_name: True if some resource of the type is enough.
    """

    operation: AclOperation
    resource_type: ResourceType
    any_name: bool = False


@attrs.frozen
class Demand:
    """Rights of which a principal must have one.

    :ivar names: the field of the request with the names of resources, ``topics.name`` for entries of an
        array; empty for the cluster, and where :attr:`Row.special` knows.
    :ivar results: for an entry: the array of the response with the results.
    :ivar code: the error.
    :ivar when: the condition under which it is demanded, for people.
    """

    rights: tuple[Right, ...]
    outcome: Outcome
    names: str = ""
    results: str = ""
    when: str = ""

    @property
    def code(self) -> ErrorCode:
        """The error of what is refused."""
        return ERRORS[self.rights[0].resource_type]


@attrs.frozen
class Row:
    """The demands of an API.

    :ivar special: ``module.function`` of :mod:`kafkatx.broker.guards.special`, which enforces the
        demands without :attr:`Demand.names`; empty: they are about the cluster.
    """

    api: Api
    demands: tuple[Demand, ...] = ()
    special: str = ""


def _request(operation: AclOperation, resource_type: ResourceType, names: str, when: str = "") -> Demand:
    return Demand((Right(operation, resource_type),), Outcome.REQUEST, names, when=when)


def _cluster(operation: AclOperation, *others: AclOperation, when: str = "") -> Demand:
    rights = tuple(Right(one, _R.CLUSTER) for one in (operation, *others))
    return Demand(rights, Outcome.REQUEST, when=when)


def _each(operation: AclOperation, resource_type: ResourceType, names: str, results: str) -> Demand:
    return Demand((Right(operation, resource_type),), Outcome.ENTRY, names, results)


def _special(
    outcome: Outcome,
    operation: AclOperation,
    resource_type: ResourceType,
    *others: Right,
    when: str = "",
) -> Demand:
    return Demand((Right(operation, resource_type), *others), outcome, when=when)


_REQUEST, _ENTRY, _HIDDEN = Outcome.REQUEST, Outcome.ENTRY, Outcome.HIDDEN

TRANSACTIONAL, WITHOUT_ID = "with a transactional id", "without a transactional id"
OF_FOLLOWERS = "of a follower"
OF_CLIENTS = "of a client"
NAMED, ALL = "topics that are named", "all topics"
CREATING = "missing topics that would be created"
CONFIGS = "configs in the reply"
OPERATIONS = "authorized operations of the cluster in the reply"
ONE_ID, OF_BROKERS = "versions 0 to 3", "version 4 on, of brokers"
OF_GROUP, OF_CLIENT_ID = "of a group", "of a client id"
FOR_GROUP, FOR_TRANSACTION = "for a group", "for a transactional id"
FOR_TOPIC, FOR_BROKER, FOR_GROUP_CONFIGS = "configs of a topic", "configs of a broker", "configs of a group"
SUBSCRIBED, ASSIGNED = "topics that are subscribed to by name", "topics of members"
IN_TRANSACTION = "topics of a transaction"


def _configs(operation: AclOperation) -> tuple[Demand, ...]:
    return tuple(
        _special(_ENTRY, operation, resource_type, when=when)
        for resource_type, when in (
            (_R.TOPIC, FOR_TOPIC),
            (_R.CLUSTER, FOR_BROKER),
            (_R.GROUP, FOR_GROUP_CONFIGS),
        )
    )


def _group(*more: Demand, operation: AclOperation = _O.READ, names: str = "group_id") -> tuple[Demand, ...]:
    return (_request(operation, _R.GROUP, names), *more)


_TRANSACTIONAL_ID = _request(_O.WRITE, _R.TRANSACTIONAL_ID, "transactional_id")

ROWS = (
    Row(
        a.PRODUCE,
        (
            _request(_O.WRITE, _R.TRANSACTIONAL_ID, "transactional_id", when=TRANSACTIONAL),
            _each(_O.WRITE, _R.TOPIC, "topic_data.name", "responses"),
        ),
    ),
    Row(
        a.FETCH,
        (
            _special(_ENTRY, _O.READ, _R.TOPIC, when=OF_CLIENTS),
            _special(_REQUEST, _O.CLUSTER_ACTION, _R.CLUSTER, when=OF_FOLLOWERS),
        ),
        "fetch.check",
    ),
    Row(a.LIST_OFFSETS, (_each(_O.DESCRIBE, _R.TOPIC, "topics.name", "topics"),)),
    Row(
        a.METADATA,
        (
            _special(_ENTRY, _O.DESCRIBE, _R.TOPIC, when=NAMED),
            _special(_HIDDEN, _O.DESCRIBE, _R.TOPIC, when=ALL),
            _special(_ENTRY, _O.CREATE, _R.TOPIC, Right(_O.CREATE, _R.CLUSTER), when=CREATING),
            _special(_HIDDEN, _O.DESCRIBE, _R.CLUSTER, when=OPERATIONS),
        ),
        "metadata.check",
    ),
    Row(a.OFFSET_COMMIT, _group(_each(_O.READ, _R.TOPIC, "topics.name", "topics"))),
    Row(
        a.OFFSET_FETCH,
        (
            _special(_ENTRY, _O.DESCRIBE, _R.GROUP),
            _special(_ENTRY, _O.DESCRIBE, _R.TOPIC, when=NAMED),
            _special(_HIDDEN, _O.DESCRIBE, _R.TOPIC, when=ALL),
        ),
        "offset_fetch.check",
    ),
    Row(
        a.FIND_COORDINATOR,
        (
            _special(_ENTRY, _O.DESCRIBE, _R.GROUP, when=FOR_GROUP),
            _special(_ENTRY, _O.DESCRIBE, _R.TRANSACTIONAL_ID, when=FOR_TRANSACTION),
        ),
        "groups.find_coordinator",
    ),
    Row(a.JOIN_GROUP, _group()),
    Row(a.HEARTBEAT, _group()),
    Row(a.LEAVE_GROUP, _group()),
    Row(a.SYNC_GROUP, _group()),
    Row(a.DESCRIBE_GROUPS, (_each(_O.DESCRIBE, _R.GROUP, "groups", "groups"),), "groups.operations"),
    Row(
        a.LIST_GROUPS,
        (_special(_HIDDEN, _O.DESCRIBE, _R.CLUSTER, Right(_O.DESCRIBE, _R.GROUP)),),
        "groups.list_groups",
    ),
    Row(a.SASL_HANDSHAKE),
    Row(a.API_VERSIONS),
    Row(
        a.CREATE_TOPICS,
        (
            Demand(
                (Right(_O.CREATE, _R.TOPIC), Right(_O.CREATE, _R.CLUSTER)), _ENTRY, "topics.name", "topics"
            ),
            _special(_HIDDEN, _O.DESCRIBE_CONFIGS, _R.TOPIC, when=CONFIGS),
        ),
        "topics.create_topics",
    ),
    Row(a.DELETE_TOPICS, (_special(_ENTRY, _O.DELETE, _R.TOPIC),), "topics.delete_topics"),
    Row(a.DELETE_RECORDS, (_each(_O.DELETE, _R.TOPIC, "topics.name", "topics"),)),
    Row(
        a.INIT_PRODUCER_ID,
        (
            _request(_O.WRITE, _R.TRANSACTIONAL_ID, "transactional_id", when=TRANSACTIONAL),
            Demand(
                (Right(_O.IDEMPOTENT_WRITE, _R.CLUSTER), Right(_O.WRITE, _R.TOPIC, any_name=True)),
                _REQUEST,
                when=WITHOUT_ID,
            ),
        ),
        "transactions.init_producer_id",
    ),
    Row(
        a.OFFSET_FOR_LEADER_EPOCH,
        (
            Demand(
                (Right(_O.DESCRIBE, _R.TOPIC), Right(_O.CLUSTER_ACTION, _R.CLUSTER)),
                _ENTRY,
                "topics.topic",
                "topics",
            ),
        ),
    ),
    Row(
        a.ADD_PARTITIONS_TO_TXN,
        (
            _special(_REQUEST, _O.WRITE, _R.TRANSACTIONAL_ID, when=ONE_ID),
            _special(_ENTRY, _O.WRITE, _R.TOPIC, when=ONE_ID),
            _special(_REQUEST, _O.CLUSTER_ACTION, _R.CLUSTER, when=OF_BROKERS),
        ),
        "transactions.add_partitions",
    ),
    Row(a.ADD_OFFSETS_TO_TXN, (_TRANSACTIONAL_ID, _request(_O.READ, _R.GROUP, "group_id"))),
    Row(a.END_TXN, (_TRANSACTIONAL_ID,)),
    Row(a.WRITE_TXN_MARKERS, (_cluster(_O.ALTER, _O.CLUSTER_ACTION),)),
    Row(
        a.TXN_OFFSET_COMMIT,
        (_TRANSACTIONAL_ID, *_group(_each(_O.READ, _R.TOPIC, "topics.name", "topics"))),
    ),
    Row(a.DESCRIBE_ACLS, (_cluster(_O.DESCRIBE),)),
    Row(a.CREATE_ACLS, (_cluster(_O.ALTER),)),
    Row(a.DELETE_ACLS, (_cluster(_O.ALTER),)),
    Row(a.DESCRIBE_CONFIGS, _configs(_O.DESCRIBE_CONFIGS), "configs.describe"),
    Row(a.ALTER_CONFIGS, _configs(_O.ALTER_CONFIGS), "configs.alter"),
    Row(a.ALTER_REPLICA_LOG_DIRS, (_cluster(_O.ALTER),)),
    Row(a.DESCRIBE_LOG_DIRS, (_cluster(_O.DESCRIBE),)),
    Row(a.SASL_AUTHENTICATE),
    Row(a.CREATE_PARTITIONS, (_each(_O.ALTER, _R.TOPIC, "topics.name", "results"),)),
    Row(a.DELETE_GROUPS, (_each(_O.DELETE, _R.GROUP, "groups_names", "results"),)),
    Row(a.ELECT_LEADERS, (_cluster(_O.ALTER),)),
    Row(a.INCREMENTAL_ALTER_CONFIGS, _configs(_O.ALTER_CONFIGS), "configs.alter"),
    Row(a.ALTER_PARTITION_REASSIGNMENTS, (_cluster(_O.ALTER),)),
    Row(a.LIST_PARTITION_REASSIGNMENTS, (_cluster(_O.DESCRIBE),)),
    Row(
        a.OFFSET_DELETE,
        _group(_special(_ENTRY, _O.READ, _R.TOPIC), operation=_O.DELETE),
        "groups.offset_delete",
    ),
    Row(a.DESCRIBE_CLIENT_QUOTAS, (_cluster(_O.DESCRIBE_CONFIGS),)),
    Row(a.ALTER_CLIENT_QUOTAS, (_cluster(_O.ALTER_CONFIGS),)),
    Row(a.DESCRIBE_USER_SCRAM_CREDENTIALS, (_cluster(_O.DESCRIBE),)),
    Row(a.ALTER_USER_SCRAM_CREDENTIALS, (_cluster(_O.ALTER),)),
    Row(a.DESCRIBE_QUORUM, (_cluster(_O.DESCRIBE),)),
    Row(a.UPDATE_FEATURES, (_cluster(_O.ALTER),)),
    Row(
        a.DESCRIBE_CLUSTER,
        (_special(_HIDDEN, _O.DESCRIBE, _R.CLUSTER, when=OPERATIONS),),
        "topics.describe_cluster",
    ),
    Row(a.DESCRIBE_PRODUCERS, (_each(_O.READ, _R.TOPIC, "topics.name", "topics"),)),
    Row(
        a.DESCRIBE_TRANSACTIONS,
        (
            _each(_O.DESCRIBE, _R.TRANSACTIONAL_ID, "transactional_ids", "transaction_states"),
            _special(_HIDDEN, _O.DESCRIBE, _R.TOPIC, when=IN_TRANSACTION),
        ),
        "transactions.describe",
    ),
    Row(
        a.LIST_TRANSACTIONS,
        (_special(_HIDDEN, _O.DESCRIBE, _R.TRANSACTIONAL_ID),),
        "transactions.list_transactions",
    ),
    Row(
        a.CONSUMER_GROUP_HEARTBEAT,
        _group(_special(_REQUEST, _O.DESCRIBE, _R.TOPIC, when=SUBSCRIBED)),
        "groups.heartbeat",
    ),
    Row(
        a.CONSUMER_GROUP_DESCRIBE,
        (
            _each(_O.DESCRIBE, _R.GROUP, "group_ids", "groups"),
            _special(_ENTRY, _O.DESCRIBE, _R.TOPIC, when=ASSIGNED),
        ),
        "groups.consumer_describe",
    ),
    Row(a.GET_TELEMETRY_SUBSCRIPTIONS),
    Row(a.PUSH_TELEMETRY),
    Row(a.LIST_CONFIG_RESOURCES, (_cluster(_O.DESCRIBE_CONFIGS),)),
    Row(
        a.DESCRIBE_TOPIC_PARTITIONS,
        (
            _special(_ENTRY, _O.DESCRIBE, _R.TOPIC, when=NAMED),
            _special(_HIDDEN, _O.DESCRIBE, _R.TOPIC, when=ALL),
        ),
        "topics.describe_partitions",
    ),
    Row(a.DESCRIBE_MIRRORS, (_cluster(_O.DESCRIBE),)),
    Row(a.DESCRIBE_CLIENT_METRICS, (_cluster(_O.DESCRIBE),)),
    Row(
        a.DESCRIBE_EXPLANATIONS,
        (
            _special(_REQUEST, _O.DESCRIBE, _R.GROUP, when=OF_GROUP),
            _special(_REQUEST, _O.DESCRIBE, _R.CLUSTER, when=OF_CLIENT_ID),
        ),
        "explanations.check",
    ),
    Row(a.DESCRIBE_BROKER, (_cluster(_O.DESCRIBE),)),
    Row(a.DESCRIBE_SAMPLES, (_cluster(_O.CLUSTER_ACTION),)),
)

DEMANDS: Mapping[int, Row] = MappingProxyType({row.api.key: row for row in ROWS})
"""The rows by API key."""
