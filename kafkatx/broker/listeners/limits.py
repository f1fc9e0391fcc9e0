"""The limits of a server's connections, as the settings of a broker say. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from kafkatx.config import BrokerConfig
from kafkatx.config.listeners import ListenerConfig
from kafkatx.config.table import limits as q
from kafkatx.config.table import network as n
from kafkatx.net.admission.limits import AdmissionLimits, ListenerLimits
from kafkatx.net.admission.rates import Window
from kafkatx.net.server import Limits


def limits_of(config: BrokerConfig) -> Limits:
    """Return the limits of connections and of their requests."""
    return Limits(
        max_request_bytes=config.get("socket.request.max.bytes"),
        max_queued_bytes=config.get("queued.max.request.bytes"),
        max_idle_ms=config.get("connections.max.idle.ms"),
        admission=_admission(config),
        send_buffer_bytes=config.get("socket.send.buffer.bytes"),
        receive_buffer_bytes=config.get("socket.receive.buffer.bytes"),
        min_request_bytes_s=config.get("kafkatx.request.min.bytes.per.second"),
        max_turn_ms=config.get("kafkatx.request.turn.max.ms"),
        max_unauthenticated_per_ip=config[q.UNAUTHENTICATED_CONNECTIONS_MAX_PER_IP],
        log_lines=config.get("kafkatx.log.lines.per.minute"),
    )


def _admission(config: BrokerConfig) -> AdmissionLimits:
    listeners = [listener.name for listener in config.listeners()]
    return AdmissionLimits(
        max_connections=config[n.MAX_CONNECTIONS],
        max_connections_per_ip=config[n.MAX_CONNECTIONS_PER_IP],
        per_ip_overrides=_overrides(config),
        creation_rate=config[n.MAX_CONNECTION_CREATION_RATE],
        listeners={name: _of_listener(config.of_listener(name)) for name in listeners},
        protected=config.inter_broker.name if len(listeners) > 1 else "",
        window=Window(config[q.QUOTA_WINDOW_NUM], config[q.QUOTA_WINDOW_SIZE_SECONDS] * 1000),
    )


def _overrides(config: BrokerConfig) -> Mapping[str, int]:
    return dict(n.override_of(item) for item in config[n.MAX_CONNECTIONS_PER_IP_OVERRIDES])


def _of_listener(config: ListenerConfig) -> ListenerLimits:
    return ListenerLimits(
        max_connections=config.own(n.MAX_CONNECTIONS),
        creation_rate=config.own(n.MAX_CONNECTION_CREATION_RATE),
    )
