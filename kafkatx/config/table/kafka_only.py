"""Names of settings that only Apache Kafka has: accepted with a warning, so that its files start the broker.

They are from Kafka 0.7 to 4.x, with ZooKeeper and KRaft. A name moves to :mod:`kafkatx.config.table.broker`
when kafkatx honours it.
"""

from __future__ import annotations

PREFIXES = (
    "config.providers.",
    "listener.name.",
    "metrics.jmx.",
    "rlmm.config.",
    "rsm.config.",
    "confluent.",
)
"""Prefixes of names that Kafka passes on to a plugin or a listener."""

_NAMES = """
add.partitions.to.txn.retry.backoff.max.ms add.partitions.to.txn.retry.backoff.ms
alter.config.policy.class.name alter.log.dirs.replication.quota.window.num
alter.log.dirs.replication.quota.window.size.seconds auto.include.jmx.reporter
background.threads broker.heartbeat.interval.ms broker.session.timeout.ms broker.session.uuid
client.quota.callback.class compression.gzip.level compression.lz4.level compression.zstd.level
config.providers control.plane.listener.name controller.message.queue.size
controller.performance.always.log.threshold.ms controller.performance.sample.period.ms
controller.quorum.append.linger.ms controller.quorum.auto.join.enable controller.quorum.bootstrap.servers
controller.quorum.election.backoff.max.ms controller.quorum.election.timeout.ms
controller.quorum.fetch.max.size.bytes controller.quorum.fetch.snapshot.max.size.bytes
controller.quorum.fetch.timeout.ms controller.quorum.request.timeout.ms controller.quorum.retry.backoff.ms
controller.quorum.voters controller.socket.timeout.ms create.topic.policy.class.name
delegation.token.expiry.check.interval.ms delegation.token.expiry.time.ms delegation.token.master.key
delegation.token.max.lifetime.ms delegation.token.secret.key delete.records.purgatory.purge.interval.requests
early.start.listeners eligible.leader.replicas.enable fetch.purgatory.purge.interval.requests
group.consumer.regex.refresh.interval.ms group.coordinator.append.linger.ms
group.coordinator.append.max.buffer.size group.coordinator.cached.buffer.max.bytes
group.coordinator.new.enable group.coordinator.threads group.share.assignors group.share.delivery.count.limit
group.share.enable group.share.heartbeat.interval.ms group.share.max.groups
group.share.max.heartbeat.interval.ms group.share.max.record.lock.duration.ms
group.share.max.session.timeout.ms group.share.max.share.sessions group.share.max.size
group.share.min.heartbeat.interval.ms group.share.min.record.lock.duration.ms
group.share.min.session.timeout.ms group.share.partition.max.record.locks group.share.persister.class.name
group.share.record.lock.duration.ms group.share.record.lock.partition.limit group.share.session.timeout.ms
group.streams.heartbeat.interval.ms group.streams.initial.rebalance.delay.ms
group.streams.max.heartbeat.interval.ms group.streams.max.session.timeout.ms group.streams.max.size
group.streams.max.standby.replicas group.streams.min.heartbeat.interval.ms
group.streams.min.session.timeout.ms group.streams.num.standby.replicas group.streams.session.timeout.ms
initial.broker.registration.timeout.ms inter.broker.protocol.version kafka.metrics.polling.interval.secs
kafka.metrics.reporters log.cleaner.io.buffer.size log.cleaner.io.max.bytes.per.second
log.cleanup.interval.mins log.default.flush.scheduler.interval.ms log.dir.failure.timeout.ms
log.flush.scheduler.interval.ms log.flush.start.offset.checkpoint.interval.ms log.initial.task.delay.ms
log.local.retention.bytes log.local.retention.ms log.message.downconversion.enable log.message.format.version
log.preallocate log.roll.jitter.hours log.roll.jitter.ms max.request.partition.size.limit metadata.log.dir
metadata.log.max.record.bytes.between.snapshots metadata.log.max.snapshot.interval.ms
metadata.log.segment.bytes metadata.log.segment.min.bytes metadata.log.segment.ms
metadata.max.idle.interval.ms metadata.max.retention.bytes metadata.max.retention.ms metric.reporters
metrics.num.samples metrics.recording.level metrics.sample.window.ms monitoring.period.secs num.io.threads
num.network.threads num.recovery.threads.per.data.dir num.replica.alter.log.dirs.threads num.replica.fetchers
num.threads offsets.commit.required.acks offsets.load.buffer.size offsets.topic.compression.codec
password.encoder.cipher.algorithm password.encoder.iterations password.encoder.key.length
password.encoder.keyfactory.algorithm password.encoder.old.secret password.encoder.secret
principal.builder.class process.roles producer.id.expiration.check.interval.ms
producer.purgatory.purge.interval.requests queue.enqueue.timeout.ms queued.max.requests quota.consumer.default
quota.producer.default remote.fetch.max.wait.ms remote.list.offsets.request.timeout.ms
remote.log.index.file.cache.total.size.bytes remote.log.manager.copier.thread.pool.size
remote.log.manager.copy.max.bytes.per.second remote.log.manager.copy.quota.window.num
remote.log.manager.copy.quota.window.size.seconds remote.log.manager.expiration.thread.pool.size
remote.log.manager.fetch.max.bytes.per.second remote.log.manager.fetch.quota.window.num
remote.log.manager.fetch.quota.window.size.seconds remote.log.manager.follower.thread.pool.size
remote.log.manager.task.interval.ms remote.log.manager.task.retry.backoff.max.ms
remote.log.manager.task.retry.backoff.ms remote.log.manager.task.retry.jitter
remote.log.manager.thread.pool.size remote.log.metadata.custom.metadata.max.bytes
remote.log.metadata.manager.class.name remote.log.metadata.manager.class.path
remote.log.metadata.manager.impl.prefix remote.log.metadata.manager.listener.name
remote.log.reader.max.pending.tasks remote.log.reader.threads remote.log.storage.manager.class.name
remote.log.storage.manager.class.path remote.log.storage.manager.impl.prefix remote.log.storage.system.enable
replica.alter.log.dirs.io.max.bytes.per.second replica.lag.max.messages replica.socket.receive.buffer.bytes
replication.quota.window.num replication.quota.window.size.seconds request.timeout.ms
sasl.client.callback.handler.class sasl.jaas.config sasl.kerberos.kinit.cmd
sasl.kerberos.min.time.before.relogin sasl.kerberos.principal.to.local.rules sasl.kerberos.service.name
sasl.kerberos.ticket.renew.jitter sasl.kerberos.ticket.renew.window.factor sasl.login.callback.handler.class
sasl.login.class sasl.login.connect.timeout.ms sasl.login.read.timeout.ms sasl.login.refresh.buffer.seconds
sasl.login.refresh.min.period.seconds sasl.login.refresh.window.factor sasl.login.refresh.window.jitter
sasl.login.retry.backoff.max.ms sasl.login.retry.backoff.ms sasl.mechanism.controller.protocol
sasl.oauthbearer.header.urlencode sasl.oauthbearer.token.endpoint.url sasl.server.callback.handler.class
security.providers server.max.startup.time.ms share.coordinator.append.linger.ms
share.coordinator.cold.partition.snapshot.interval.ms share.coordinator.load.buffer.size
share.coordinator.snapshot.update.records.per.snapshot share.coordinator.state.topic.compression.codec
share.coordinator.state.topic.min.isr share.coordinator.state.topic.num.partitions
share.coordinator.state.topic.prune.interval.ms share.coordinator.state.topic.replication.factor
share.coordinator.state.topic.segment.bytes share.coordinator.threads share.coordinator.write.timeout.ms
share.fetch.max.fetch.records share.fetch.purgatory.purge.interval.requests
socket.connection.setup.timeout.max.ms socket.connection.setup.timeout.ms socket.listen.backlog.size
ssl.allow.dn.changes ssl.allow.san.changes ssl.engine.factory.class ssl.keymanager.algorithm ssl.protocol
ssl.provider ssl.secure.random.implementation ssl.trustmanager.algorithm
topic.flush.intervals.ms topic.log.retention.hours topic.log.retention.size topic.partition.count.map
transaction.state.log.load.buffer.size transaction.two.phase.commit.enable unclean.leader.election.interval.ms
unstable.api.versions.enable unstable.feature.versions.enable zk.synctime.ms
zookeeper.metadata.migration.enable zookeeper.metadata.migration.min.batch.size zookeeper.ssl.cipher.suites
zookeeper.ssl.crl.enable zookeeper.ssl.enabled.protocols zookeeper.ssl.ocsp.enable zookeeper.ssl.protocol
zookeeper.sync.time.ms
"""

NAMES = frozenset(_NAMES.split())
"""Complete names."""


def is_kafka_only(name: str) -> bool:
    """Return True if only Apache Kafka uses a name."""
    return name in NAMES or name.startswith(PREFIXES)
