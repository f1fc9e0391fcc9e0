"""The parts of the registry, joined; imported with the first request."""

from __future__ import annotations

import attrs
from twisted.internet.defer import Deferred

import kafkatx
from kafkatx.broker.authorization.http_guard import HttpGuard
from kafkatx.broker.broker import Broker
from kafkatx.broker.coordinator.runtime.internal_topic import InternalTopic
from kafkatx.broker.coordinator.runtime.record_writer import RecordWriter
from kafkatx.broker.registry.api.application import RegistryApplication
from kafkatx.broker.registry.api.settings import ApiSettings
from kafkatx.broker.registry.forwarder import Forwarder
from kafkatx.broker.registry.inspector import PROCESSES, Inspector
from kafkatx.broker.registry.registry import SchemaRegistry
from kafkatx.broker.registry.schema_checks import SchemaChecks
from kafkatx.broker.registry.schemas_topic import SchemasTopic
from kafkatx.config.table import broker as b
from kafkatx.networkclient.connection import MakeEndpoint
from kafkatx.schemas.types import SchemaType


@attrs.frozen
class RegistryParts:
    """The registry of a broker.

    :ivar application: answers requests.
    :ivar checks: checks produced records.
    """

    application: RegistryApplication
    registry: SchemaRegistry
    forwarder: Forwarder
    checks: SchemaChecks

    def stop(self) -> Deferred[None]:
        """End processes and connections."""
        self.registry.stop()
        return self.forwarder.stop()


def make_registry(broker: Broker, https: MakeEndpoint | None = None) -> RegistryParts:
    """Make the registry of a broker.

    :param https: makes the endpoints of other brokers' HTTPS listeners.
    """
    config, clock = broker.config, broker.clock
    name, timeout_s = config[b.SCHEMAS_TOPIC], config[b.SCHEMAS_WRITE_TIMEOUT_MS] / 1000
    internal = InternalTopic(
        name, broker.node_id, broker.metadata, broker.topics, broker.topic_commands, clock
    )
    writer = RecordWriter(broker.replicas, clock, broker.now_ms, broker.commit_timeouts)
    writer.timeout_s = timeout_s
    inspection_s = config[b.SCHEMAS_INSPECTION_TIMEOUT_MS] / 1000
    workers = [broker.workers(f"schema-inspection-{number}") for number in range(PROCESSES)]
    inspector = Inspector(workers, clock, inspection_s)
    topic = SchemasTopic(name, broker.metadata, broker.topics, internal)
    registry = SchemaRegistry(topic, writer, inspector, broker.workers("schemas"), clock, timeout_s)
    broker.topics.role_listeners.append(registry.role_changed)
    clusters = {
        "kafka-cluster": broker.metadata.state.cluster_id,
        "schema-registry-cluster": "schema-registry",
    }
    about: dict[tuple[str, ...], object] = {
        (): {},
        ("schemas", "types"): [kind.value for kind in SchemaType],
        ("v1", "metadata", "id"): {"scope": {"path": [], "clusters": clusters}},
        ("v1", "metadata", "version"): {"version": f"kafkatx {kafkatx.__version__}", "commitId": ""},
    }
    forwarder = Forwarder(broker.node_id, clock, timeout_s, https)
    settings = ApiSettings(config[b.SCHEMAS_MAX_BYTES], config[b.SCHEMAS_COMPATIBILITY_LEVEL])
    guard = HttpGuard(broker.authorization)
    application = RegistryApplication(registry, forwarder, clock, about, settings, timeout_s, guard)
    checks = SchemaChecks(application, broker.workers("schema-ids"), clock)
    return RegistryParts(application, registry, forwarder, checks)
