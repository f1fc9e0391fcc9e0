"""Produce (key 0), versions 0-12.

Deviation from Apache Kafka: a request that repeats a partition is refused; Kafka stores the last of the
repeated parts only, and acknowledges it. ``acks=-1`` with one replica is answered as soon as the
records are written, as the high watermark passes them at once; with several it waits for them
(:mod:`kafkatx.broker.replica.commit_waiters`), at most ``timeout_ms``.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from types import MappingProxyType

from twisted.internet.defer import Deferred

from kafkatx.broker.broker import Broker
from kafkatx.broker.dispatch import Api
from kafkatx.broker.produce.record_validation import SCHEMAS_UNCHECKED
from kafkatx.broker.produce.staged_produce import (
    ALL,
    OFFLINE,
    ONE_BATCH_SINCE,
    ProduceOutcome,
    StagedProduce,
    StoredPart,
    UnvalidatedPart,
    UnvalidatedProduce,
)
from kafkatx.broker.produce.staged_single import StagedForCommit, StagedForOne
from kafkatx.broker.replica.partition import Partition
from kafkatx.broker.replica.roles import LeaseEnded
from kafkatx.broker.requests.context import RequestContext
from kafkatx.broker.requests.leader_hints import PRODUCE_SINCE, hint_producers
from kafkatx.broker.requests.pending_answers import ExclusiveResponse, Outcome, Staging
from kafkatx.broker.requests.unique_names import partitions
from kafkatx.config.mirror_record import mirror_refusal
from kafkatx.config.table.groups import TRANSACTION_PARTITION_VERIFICATION_ENABLE
from kafkatx.errors import ErrorCode
from kafkatx.interfaces import IAppended
from kafkatx.interfaces.storage import DEFER_VALIDATION, NEEDS_VALIDATION
from kafkatx.types import FileSlice, Records, TopicPartition
from kafkatx.wire.messages.produce import (
    BatchIndexAndErrorMessage,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)

BUFFERS = (memoryview, bytes)  # a tuple made once: a union of types would be made with each request
ZSTD_SINCE = 7
MAGIC_AT, MAGIC_2 = 16, 2
CODEC_AT, CODEC_BITS, ZSTD = 22, 7, 4
UNSUPPORTED_VERSION = ErrorCode.UNSUPPORTED_VERSION
MANY_PARTITIONS = 200
"""A request for more partitions is stored in slices: opening the files of a partition takes a while."""

STEP = 10
"""The number of partitions in a slice; other requests are served between two slices."""

CHECK_SCHEMAS = PartitionProduceResponse(-1, ErrorCode.INVALID_RECORD, -1)
"""Stands for no result: the ids of schemas must be checked first."""
NO_REFUSALS: Mapping[TopicPartition, ErrorCode] = MappingProxyType({})
UNVERIFIED = "the transaction coordinator does not know the partition as part of the producer's transaction"

NAMES = partitions("topic_data", "name", "partition_data", "index")


def answer(broker: Broker, request: ProduceRequest, context: RequestContext) -> Outcome[ProduceResponse]:
    """Stage the records of every partition."""
    if request.acks not in (-1, 0, 1):
        return refuse(request, context, ErrorCode.INVALID_REQUIRED_ACKS, f"acks={request.acks}")
    if request.transactional_id is not None:
        return _answer_transactional(broker, request, context.version)
    topics = request.topic_data
    if len(topics) == 1 and len(topics[0].partition_data) == 1:
        return _answer_one(broker, request, topics[0].name, topics[0].partition_data[0], context.version)
    repeated = NAMES.unite(request)
    if repeated:
        return _refuse_repeated(request, repeated)
    appends = _PartitionAppends(broker, request, context.version)
    if sum(len(topic.partition_data) for topic in topics) > MANY_PARTITIONS:
        return appends.store_many()
    for topic in topics:
        results = appends.begin(topic.name)
        for data in topic.partition_data:
            results.append(appends.store(topic.name, data))
            appends.validated = DEFER_VALIDATION
    return appends.staged()


def _answer_transactional(broker: Broker, request: ProduceRequest, version: int) -> Outcome[ProduceResponse]:
    """Stage the records of a request with a transactional id, once they are verified.

    Transactions are committed by what all in-sync replicas have: acks=1 is taken as acks=all.
    """
    from kafkatx.broker.produce.transactional import verify  # with the first transaction

    repeated = NAMES.unite(request)
    if repeated:
        return _refuse_repeated(request, repeated)
    if request.acks:
        request.acks = ALL
    enabled: bool = broker.config[TRANSACTION_PARTITION_VERIFICATION_ENABLE]
    refusals = verify(broker.topics, broker.verifier, enabled, request, version)
    if isinstance(refusals, Deferred):
        return ExclusiveResponse(
            refusals.addCallback(lambda known: _write_verified(broker, request, version, known))
        )
    return _stage_verified(broker, request, version, refusals)


def _stage_verified(
    broker: Broker, request: ProduceRequest, version: int, refusals: Mapping[TopicPartition, ErrorCode]
) -> StagedProduce:
    appends = _PartitionAppends(broker, request, version, refusals)
    for topic in request.topic_data:
        results = appends.begin(topic.name)
        for data in topic.partition_data:
            results.append(appends.store(topic.name, data))
            appends.validated = DEFER_VALIDATION
    return appends.staged()


def _write_verified(
    broker: Broker, request: ProduceRequest, version: int, refusals: Mapping[TopicPartition, ErrorCode]
) -> ProduceOutcome:
    """Write the records of a request that had to wait for the coordinator."""
    staged = _stage_verified(broker, request, version, refusals)
    failed = broker.write_staged()
    broker.replicas.wake_waiting()
    return staged.respond(failed)


def _answer_one(
    broker: Broker, request: ProduceRequest, topic: str, data: PartitionProduceData, version: int
) -> Staging[ProduceResponse]:
    """Stage the records of the only partition of a request: the straight path."""
    partition, records = broker.topics.find(topic, data.index), data.records
    if (
        partition is not None
        and isinstance(records, BUFFERS)
        and _refused(partition, data, request.acks, version) is None
    ):
        done = partition.log.append(
            records, partition.leader_epoch, broker.now_ms(), version >= ONE_BATCH_SINCE
        )
        if not done.error and done.log_append_time_ms == -1:
            broker.replicas.staged[partition] = None
            if request.acks == ALL and partition.replicated:
                end_offset = done.last_offset + 1
                timeouts, timeout_ms = broker.commit_timeouts, request.timeout_ms
                return StagedForCommit(
                    topic, data.index, partition, done.base_offset, end_offset, timeouts, timeout_ms
                )
            return StagedForOne(request.acks, topic, data.index, partition, done.base_offset)
        appends = _PartitionAppends(broker, request, version)
        appends.begin(topic).append(appends.take(partition, data, records, done))
    else:
        appends = _PartitionAppends(broker, request, version)
        appends.begin(topic).append(appends.store(topic, data))
    return appends.staged()


class _PartitionAppends:
    """The appends of one request, partition after partition, and their results.

    :ivar validated: ``validated`` of each append: None, small batches may be validated at once; or
        DEFER_VALIDATION.
    :param refusals: the partitions that may not be written to, of a request with a transactional id.
    """

    def __init__(
        self,
        broker: Broker,
        request: ProduceRequest,
        version: int,
        refusals: Mapping[TopicPartition, ErrorCode] = NO_REFUSALS,
    ) -> None:
        self._refusals = refusals
        self._verified = request.transactional_id is not None
        self.validated: object = None
        self._broker = broker
        self._request = request
        self._acks = request.acks
        self._version = version
        self._now_ms = broker.now_ms()
        self._response = ProduceResponse()
        self._staged: list[StoredPart] = []
        self._unvalidated: list[UnvalidatedPart] = []

    def begin(self, topic: str) -> list[PartitionProduceResponse]:
        """Begin the results of a topic's partitions."""
        results: list[PartitionProduceResponse] = []
        self._response.responses.append(TopicProduceResponse(topic, results))
        return results

    def store(self, topic: str, data: PartitionProduceData) -> PartitionProduceResponse:
        """Stage the records of one partition; return the result, true once they are validated and written."""
        partition = self._broker.topics.find(topic, data.index)
        if partition is None:
            return _error(data, self._broker.topics.absent(topic, data.index))
        records = data.records
        refused = _refused(partition, data, self._acks, self._version)
        if refused is not None and refused is not CHECK_SCHEMAS:
            partition.counts.failed_produces += 1
            return refused
        if self._refusals and partition.topic_partition in self._refusals:
            return _error(data, self._refusals[partition.topic_partition], UNVERIFIED)
        if refused is not None:
            return self._check_schemas(partition, data)
        assert isinstance(records, BUFFERS)  # as every decoder gives them
        one_batch = self._version >= ONE_BATCH_SINCE
        done = partition.log.append(
            records, partition.leader_epoch, self._now_ms, one_batch, self.validated, self._verified
        )
        return self.take(partition, data, records, done)

    def _check_schemas(self, partition: Partition, data: PartitionProduceData) -> PartitionProduceResponse:
        """Leave the records to the validator, which looks at the ids of their schemas first."""
        refused = _refused(partition, data, self._acks, self._version, checked=True)
        if refused is not None:
            return refused
        records, result = data.records, PartitionProduceResponse(data.index, 0, -1)
        assert isinstance(records, BUFFERS)  # as every decoder gives them
        self._unvalidated.append((partition, records, SCHEMAS_UNCHECKED, result))
        return result

    def take(
        self, partition: Partition, data: PartitionProduceData, records: memoryview | bytes, done: IAppended
    ) -> PartitionProduceResponse:
        """Return the result for what an append gave."""
        log_start_offset = partition.log.log_start_offset
        if done.error == NEEDS_VALIDATION:
            result = PartitionProduceResponse(data.index, 0, -1)
            self._unvalidated.append((partition, records, done, result))
            return result
        if done.error:
            partition.counts.failed_produces += 1
            if not self._broker.replicas.has_lease():
                return _error(data, ErrorCode.NOT_LEADER_OR_FOLLOWER, LeaseEnded().strerror)
            return _failed(data, done, log_start_offset)
        self._broker.replicas.staged[partition] = None
        result = PartitionProduceResponse(
            data.index, 0, done.base_offset, done.log_append_time_ms, log_start_offset
        )
        self._staged.append(StoredPart(partition, result, done.last_offset + 1, partition.leader_epoch))
        return result

    def staged(self) -> StagedProduce:
        """Return the request's answer: all is staged, but for what must be validated first."""
        if self._unvalidated:
            return self._with_unvalidated()
        return StagedProduce(
            self._acks, self._response, self._staged, self._broker.commit_timeouts, self._request.timeout_ms
        )

    def _with_unvalidated(self) -> UnvalidatedProduce:
        return UnvalidatedProduce(
            self._broker.validator,
            self._version,
            self._acks,
            self._response,
            self._staged,
            self._unvalidated,
            self._broker.commit_timeouts,
            self._request.timeout_ms,
            self._broker.verifier.pending if self._verified else None,
        )

    def store_many(self) -> ExclusiveResponse[ProduceResponse]:
        """Store the records of many partitions in slices; those not stored when the client goes never are."""
        failed: dict[object, OSError] = {}

        def respond(stored: UnvalidatedProduce) -> Deferred[ProduceResponse | None]:
            stored.throttle(exclusive.throttle_time_ms)
            return stored.respond(failed)

        sliced = self._broker.slices.run(self._store_each(failed), self._with_unvalidated())
        exclusive = ExclusiveResponse(sliced.addCallback(respond))
        return exclusive

    def _store_each(self, failed: dict[object, OSError]) -> Iterator[None]:
        """Stage and write some partitions with each step; nothing stays staged between two steps."""
        broker, number = self._broker, 0
        for topic in self._request.topic_data:
            results = self.begin(topic.name)
            for data in topic.partition_data:
                results.append(self.store(topic.name, data))
                number += 1
                if number % STEP == 0:
                    failed.update(broker.write_staged())
                    broker.replicas.wake_waiting()
                    yield
                    self._now_ms = broker.now_ms()
        failed.update(broker.write_staged())
        broker.replicas.wake_waiting()


def _refuse_repeated(request: ProduceRequest, repeated: set[tuple[Hashable, ...]]) -> StagedProduce:
    """Refuse the whole request: a reply has room for one offset of each partition."""
    code = ErrorCode.INVALID_REQUEST
    responses = []
    for topic in request.topic_data:
        results = []
        for data in topic.partition_data:
            twice = (topic.name, data.index) in repeated
            why = "the partition appears twice in the request" if twice else "another partition appears twice"
            results.append(_error(data, code, why))
        responses.append(TopicProduceResponse(topic.name, results))
    return StagedProduce(request.acks, ProduceResponse(responses), [])


def _refused(
    partition: Partition, data: PartitionProduceData, acks: int, version: int, checked: bool = False
) -> PartitionProduceResponse | None:
    """Return the result that refuses the records unseen, or None; CHECK_SCHEMAS if these must be checked.

    :param checked: True if that is known.
    """
    records = data.records
    if not partition.writable and not checked:
        return _not_writable(partition, data)
    if acks == ALL and partition.replicated and len(partition.isr) < partition.min_insync:
        return _error(data, ErrorCode.NOT_ENOUGH_REPLICAS, _too_few(partition))
    if not records:
        return _error(data, ErrorCode.INVALID_RECORD, "the request has no records for this partition")
    if version < ZSTD_SINCE and _is_zstd(records):
        return _error(
            data,
            ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
            f"zstd needs Produce v{ZSTD_SINCE}, this is v{version}",
        )
    return None


def _failed(data: PartitionProduceData, done: IAppended, log_start_offset: int) -> PartitionProduceResponse:
    errors = [BatchIndexAndErrorMessage(index, message) for index, message in done.record_errors]
    return PartitionProduceResponse(data.index, done.error, -1, -1, log_start_offset, errors, done.message)


def _not_writable(partition: Partition, data: PartitionProduceData) -> PartitionProduceResponse:
    if partition.internal and not partition.error:
        return _error(data, ErrorCode.INVALID_TOPIC_EXCEPTION, "the topic is the broker's own")
    if partition.mirror is not None and partition.is_mirror and not partition.error:
        return _error(data, ErrorCode.POLICY_VIOLATION, mirror_refusal(partition.mirror.link))
    if not partition.error:
        return CHECK_SCHEMAS
    return _error(data, partition.error, OFFLINE if partition.offline else None)


def _too_few(partition: Partition) -> str:
    return (
        f"{len(partition.isr)} of {len(partition.replicas)} replicas are in sync, min.insync.replicas is"
        f" {partition.min_insync}"
    )


def _is_zstd(records: Records) -> bool:
    assert not isinstance(records, FileSlice)  # a request has no files
    return len(records) > CODEC_AT and records[MAGIC_AT] == MAGIC_2 and records[CODEC_AT] & CODEC_BITS == ZSTD


def _error(
    data: PartitionProduceData, code: ErrorCode, message: str | None = None
) -> PartitionProduceResponse:
    return PartitionProduceResponse(data.index, code, -1, error_message=message)


def refuse(request: ProduceRequest, context: RequestContext, code: ErrorCode, message: str) -> StagedProduce:
    """Refuse every partition with the same error."""
    responses = [
        TopicProduceResponse(topic.name, [_error(data, code, message) for data in topic.partition_data])
        for topic in request.topic_data
    ]
    return StagedProduce(request.acks, ProduceResponse(responses), [])


API = Api(ProduceRequest, ProduceResponse, answer, refuse, hint_producers, PRODUCE_SINCE)
