"""The configs of a subscription to metrics of clients (KIP-714, resource type CLIENT_METRICS). Pure."""

from __future__ import annotations

from collections.abc import Mapping

from kafkatx.config.table.row import Section
from kafkatx.errors import ErrorCode, RequestError, SettingError

HONOURED = Section(
    "Client metrics", "Configs of one subscription to metrics of clients (resource type CLIENT_METRICS)."
)

METRICS = HONOURED.names(
    "metrics",
    (),
    "Prefixes of the names of metrics that clients push; * stands for all; without any nothing is pushed.",
)
INTERVAL_MS = HONOURED.integer(
    "interval.ms", 300_000, "Interval at which a client pushes its metrics.", unit="ms"
)
MATCH = HONOURED.names(
    "match",
    (),
    "Clients that push, as PARAMETER=EXPRESSION: client_instance_id, client_id, client_software_name, "
    "client_software_version, client_source_address, client_source_port; without any all clients.",
)

SETTINGS = {setting.name: setting for setting in (METRICS, INTERVAL_MS, MATCH)}
"""The configs by name, in the table's order."""

SHORTEST_INTERVAL_MS, LONGEST_INTERVAL_MS = 100, 3_600_000


def check_client_metrics_configs(name: str, configs: Mapping[str, str]) -> None:
    """Check the configs of a subscription, all but the expressions in ``match``; the errors are Kafka's.

    :raises RequestError: INVALID_REQUEST: the name is empty, a config is unknown, or the interval out of its
        range; INVALID_CONFIG: a value cannot be read.
    """
    if not name:
        raise RequestError(ErrorCode.INVALID_REQUEST, "Subscription name can't be empty")
    for config, text in configs.items():
        setting = SETTINGS.get(config)
        if setting is None:
            raise RequestError(ErrorCode.INVALID_REQUEST, f"Unknown client metrics configuration: {config}")
        try:
            setting.parse(text)
        except SettingError as error:
            raise RequestError(ErrorCode.INVALID_CONFIG, str(error)) from None
    interval = INTERVAL_MS.parse(configs.get(INTERVAL_MS.name, str(INTERVAL_MS.default)))
    if not SHORTEST_INTERVAL_MS <= interval <= LONGEST_INTERVAL_MS:
        raise RequestError(
            ErrorCode.INVALID_REQUEST,
            f"Invalid value {interval} for {INTERVAL_MS.name}, interval must be between"
            f" {SHORTEST_INTERVAL_MS} and {LONGEST_INTERVAL_MS} (1 hour)",
        )
