"""The ``kafka.*`` options: what of a Kafka consumer's settings the blocking client heeds. Pure.

Names are those of the Java client, in lower case, without ``kafka.``. Settings that Spark's Kafka source
refuses are refused. Settings of consumer groups, polling or the JVM have no meaning here and are accepted, so
that a query written for Spark's source runs unchanged; settings that would change the brokers or the security
of the connection are not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import attrs

from kafkatx.clientcore.settings import ClientSettings as KafkaSettings
from kafkatx.clientcore.tables import common
from kafkatx.errors import SettingError

BOOTSTRAP = "bootstrap.servers"
CLIENT_ID = "kafkatx-spark"


@attrs.frozen
class ClientSettings:
    """The addresses of the brokers, time-outs and fetch sizes; picklable, for the workers.

    :ivar security: ``security.protocol`` and ``ssl.*``; the workers read the files.
    """

    bootstrap: str
    client_id: str = CLIENT_ID
    timeout_s: float = 30.0
    connect_timeout_s: float = 10.0
    retry_backoff_ms: int = 100
    fetch_bytes: int = 8 << 20
    fetch_min_bytes: int = 1
    fetch_wait_ms: int = 500
    check_crcs: bool = True
    rack: str = ""
    max_age_s: float = 300.0
    isolation_level: int = 0
    security: Mapping[str, str] = attrs.field(factory=dict, repr=False)


_REFUSED = {
    "auto.offset.reset": "set the option 'startingOffsets' to say where to start; which offsets are read is "
    "fixed when the query is planned",
    "key.deserializer": "keys are read as bytes; use DataFrame operations to deserialize them",
    "value.deserializer": "values are read as bytes; use DataFrame operations to deserialize them",
    "enable.auto.commit": "no offsets are committed; the query knows what it has read",
    "interceptor.classes": "interceptors could change what is read",
}
_ISOLATION_LEVELS = ("read_uncommitted", "read_committed")


def parse_client(options: Mapping[str, str]) -> ClientSettings:
    """Read the settings from all options of a query; of those without ``kafka.`` only ``groupIdPrefix``.

    No group is joined: its name, or the prefix of it, becomes a part of the client id, if none is given.

    :param options: names in lower case.
    :raises SettingError: one is refused, has a bad value, or is missing.
    """
    given = {name[6:]: value for name, value in options.items() if name.startswith("kafka.")}
    for name, reason in _REFUSED.items():
        if name in given:
            raise SettingError(f"Kafka option '{name}' is not supported: {reason}")
    if not given.get(BOOTSTRAP, "").strip():
        raise SettingError(
            f"Option 'kafka.{BOOTSTRAP}' must be specified for configuring Kafka consumer: HOST:PORT[,...]"
        )
    settings: dict[str, Any] = {
        attribute: parse(f"kafka.{name}", given[name])
        for name, (attribute, parse) in _HEEDED.items()
        if name in given
    }
    settings |= _fetch_bytes(given)
    settings["security"] = parse_security(given)
    group = given.get("group.id", options.get("groupidprefix", "")).strip()
    if group:
        settings.setdefault("client_id", f"{CLIENT_ID}-{group}")
    return ClientSettings(given[BOOTSTRAP].strip(), **settings)


def parse_security(given: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of the security of connections.

    :raises SettingError: one is unknown, or has a bad value.
    """
    from kafkatx.blocking.security import is_security  # Spark looks sources up without a client

    chosen = {name: value.strip() for name, value in given.items() if is_security(name)}
    protocol = common.SECURITY_PROTOCOL.name
    if protocol in chosen:
        chosen[protocol] = chosen[protocol].upper()
    try:
        KafkaSettings.load("admin", chosen)
    except SettingError as error:
        raise SettingError(f"kafka.{error}") from None
    return {} if chosen.get(protocol, "PLAINTEXT") == "PLAINTEXT" else chosen


def _fetch_bytes(given: Mapping[str, str]) -> dict[str, int]:
    """Return the smaller of the two limits, as a task fetches one partition at a time."""
    names = [name for name in ("fetch.max.bytes", "max.partition.fetch.bytes") if name in given]
    sizes = [parse_int(f"kafka.{name}", given[name], least=1) for name in names]
    return {"fetch_bytes": min(sizes)} if sizes else {}


def parse_int(option: str, text: str, least: int = 0, most: int = (1 << 31) - 1) -> int:
    """Parse a whole number between two bounds.

    :raises SettingError: it is none.
    """
    try:
        number = int(text.strip())
    except ValueError:
        number = least - 1
    if not least <= number <= most:
        raise SettingError(f"{option}={text}: give a whole number from {least} to {most}")
    return number


def parse_bool(option: str, text: str) -> bool:
    """Parse ``true`` or ``false``, in any case.

    :raises SettingError: it is neither.
    """
    word = text.strip().lower()
    if word not in ("true", "false"):
        raise SettingError(f"{option}={text}: give true or false")
    return word == "true"


def _parse_seconds(option: str, text: str) -> float:
    return parse_int(option, text, least=1) / 1000


def _parse_isolation(option: str, text: str) -> int:
    word = text.strip().lower()
    if word not in _ISOLATION_LEVELS:
        raise SettingError(f"{option}={text}: give read_uncommitted or read_committed")
    return _ISOLATION_LEVELS.index(word)


def _parse_text(option: str, text: str) -> str:
    return text


_HEEDED: dict[str, tuple[str, Callable[[str, str], Any]]] = {
    "client.id": ("client_id", _parse_text),
    "request.timeout.ms": ("timeout_s", _parse_seconds),
    "socket.connection.setup.timeout.ms": ("connect_timeout_s", _parse_seconds),
    "retry.backoff.ms": ("retry_backoff_ms", parse_int),
    "fetch.min.bytes": ("fetch_min_bytes", parse_int),
    "fetch.max.wait.ms": ("fetch_wait_ms", parse_int),
    "check.crcs": ("check_crcs", parse_bool),
    "client.rack": ("rack", _parse_text),
    "isolation.level": ("isolation_level", _parse_isolation),
    "metadata.max.age.ms": ("max_age_s", _parse_seconds),
}
