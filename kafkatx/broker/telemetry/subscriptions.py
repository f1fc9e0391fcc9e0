"""Subscriptions to metrics of clients: their configs, the clients that they are about, and ids. Pure.

A subscription is a resource of type CLIENT_METRICS with the configs ``metrics`` (prefixes of names, ``*`` for
all), ``interval.ms`` and ``match`` (``client_id=web.*,client_software_name=librdkafka``). The rules are those
of Apache Kafka's ``ClientMetricsConfigs`` and ``ClientMetricsManager``; an expression matches a whole text,
in time that is linear in it.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from functools import cached_property

import attrs

from kafkatx.broker.coordinator.transactions.pattern import IdPattern
from kafkatx.config.telemetry.client_metrics_config import (
    INTERVAL_MS,
    MATCH,
    METRICS,
    check_client_metrics_configs,
)
from kafkatx.errors import ErrorCode, RequestError, SettingError
from kafkatx.records.checksum import crc32c

ALL_METRICS = "*"

PARAMETERS = (
    "client_instance_id",
    "client_id",
    "client_software_name",
    "client_software_version",
    "client_source_address",
    "client_source_port",
)
"""The parameters that ``match`` may name."""


@attrs.frozen
class Client:
    """A client instance, as ``match`` sees it."""

    client_instance_id: str
    client_id: str = ""
    client_software_name: str = "unknown"
    client_software_version: str = "unknown"
    client_source_address: str = ""
    client_source_port: str = ""


@attrs.frozen
class Subscription:
    """A subscription.

    :ivar match: expressions by parameter; all of them have to match.
    """

    name: str
    metrics: tuple[str, ...]
    interval_ms: int
    match: Mapping[str, IdPattern]

    def is_for(self, client: Client) -> bool:
        """Return True if a client matches."""
        return all(
            pattern.matches_alone(getattr(client, parameter)) for parameter, pattern in self.match.items()
        )


@attrs.frozen
class Selection:
    """The metrics that one client is asked for.

    :ivar metrics: prefixes; empty: nothing.
    """

    metrics: tuple[str, ...] = ()
    interval_ms: int = INTERVAL_MS.default

    def subscription_id(self, client_instance_id: uuid.UUID) -> int:
        """Return the id of the selection for an instance, a signed number of 32 bits: a checksum of it."""
        text = f"[{', '.join(self.metrics)}]{self.interval_ms}"
        folded = client_instance_id.int ^ client_instance_id.int >> 64
        value = (crc32c(text.encode()) ^ folded ^ folded >> 32) & 0xFFFF_FFFF
        return value - (1 << 32) if value >= 1 << 31 else value


def check(name: str, configs: Mapping[str, str]) -> None:
    """Check the configs of a subscription.

    :raises RequestError: INVALID_REQUEST or INVALID_CONFIG, as Apache Kafka.
    """
    check_client_metrics_configs(name, configs)
    parse_match(MATCH.parse(configs.get(MATCH.name, "")))


def parse(name: str, configs: Mapping[str, str]) -> Subscription:
    """Return a subscription.

    :raises RequestError: as :func:`check`.
    """
    check_client_metrics_configs(name, configs)
    values = {row: row.parse(configs[row.name]) for row in (METRICS, MATCH) if row.name in configs}
    interval = configs.get(INTERVAL_MS.name)
    return Subscription(
        name,
        values.get(METRICS, ()),
        INTERVAL_MS.default if interval is None else INTERVAL_MS.parse(interval),
        parse_match(values.get(MATCH, ())),
    )


def parse_match(patterns: Iterable[str]) -> dict[str, IdPattern]:
    """Return the expressions of ``match``.

    :raises RequestError: INVALID_CONFIG: one is not ``PARAMETER=EXPRESSION``.
    """
    found = {}
    for pattern in patterns:
        parts = pattern.split("=")
        if len(parts) != 2 or not parts[1]:
            raise _invalid(f"Illegal client matching pattern: {pattern}")
        parameter, text = (part.strip() for part in parts)
        if parameter not in PARAMETERS:
            raise _invalid(
                f"Illegal client matching parameter name: {parameter}; there are {', '.join(PARAMETERS)}"
            )
        try:
            found[parameter] = IdPattern(text)
        except RequestError as error:
            raise _invalid(f"Illegal client matching pattern: {text}: {error}") from None
    return found


def _invalid(why: str) -> RequestError:
    return RequestError(ErrorCode.INVALID_CONFIG, why)


class Subscriptions:
    """All subscriptions.

    :ivar complaints: why stored ones are not used.
    """

    def __init__(self, configs: Mapping[str, Mapping[str, str]]) -> None:
        self.complaints: list[str] = []
        self._every: list[Subscription] = []
        for name in sorted(configs):
            try:
                self._every.append(parse(name, configs[name]))
            except (RequestError, SettingError) as error:  # stored by another version
                self.complaints.append(f"subscription {name}: {error}")

    def __bool__(self) -> bool:
        return bool(self._every)

    @cached_property
    def nothing(self) -> Selection:
        """The selection of a client that no subscription is for."""
        return Selection()

    def select(self, client: Client) -> Selection:
        """Return what a client is asked for: the union, at the shortest of the intervals."""
        matching = [one for one in self._every if self._matches(one, client)]
        if not matching:
            return self.nothing
        metrics = {metric for one in matching for metric in one.metrics}
        if ALL_METRICS in metrics:
            metrics = {ALL_METRICS}
        interval_ms = min(INTERVAL_MS.default, *(one.interval_ms for one in matching))
        return Selection(tuple(sorted(metrics)), interval_ms)

    def _matches(self, one: Subscription, client: Client) -> bool:
        try:
            return one.is_for(client)
        except RequestError:  # it takes too much work
            return False
