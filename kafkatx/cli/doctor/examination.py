"""Examinations: of a running cluster through its brokers, and of the files of one. They ask, then check."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from kafkatx.cli.doctor import cluster_checks as c
from kafkatx.cli.doctor.certificates import days_of_port, days_of_settings
from kafkatx.cli.doctor.machine_checks import check_machine
from kafkatx.cli.doctor.result import Finding, hint, ok, wrong
from kafkatx.cli.doctor.setting_checks import check_settings
from kafkatx.errors import KafkaTXError
from kafkatx.names import counted

if TYPE_CHECKING:
    from kafkatx.blocking import Cluster
    from kafkatx.types import BrokerNode
    from kafkatx.wire.messages.describe_broker import DescribeBrokerResponse
    from kafkatx.wire.schema import Message

REBALANCE_S = 3.0
"""Seconds between the two looks at the groups."""

HANGING_MS = 900_000
MOST_PARTITIONS = 2000
"""Partitions in which open transactions are looked for."""

CONNECT_S = 5.0

STRAY = "-stray"
"""The end of the name of a directory that was put aside."""


def examine_cluster(
    cluster: Cluster, uses_tls: bool = False, sleep: Callable[[float], None] = time.sleep
) -> Iterator[Finding]:
    """Examine a running cluster, a check after the other; what cannot be checked is a hint.

    :raises KafkaTXError: no broker answers.
    """
    nodes = sorted(cluster.metadata([]).brokers.values(), key=lambda node: node.id)
    states = _guarded("groups", partial(_groups, cluster))
    for check, examine in (
        ("addresses", partial(_addresses, nodes, uses_tls)),
        ("partitions", partial(_partitions, cluster)),
        ("log-dirs", partial(_log_dirs, cluster)),
        ("settings", partial(_settings, cluster, nodes)),
        ("machine", partial(_machines, cluster)),
        ("hanging-transactions", partial(_transactions, cluster)),
    ):
        yield from _findings(check, examine)
    if isinstance(states, Finding):
        yield states
    else:
        sleep(REBALANCE_S)
        yield from _findings("groups", lambda: c.check_groups(states, _groups(cluster)))


def _findings(check: str, examine: Callable[[], Iterable[Finding]]) -> Iterator[Finding]:
    try:
        yield from examine()
    except KafkaTXError as error:
        yield hint(check, f"cannot be checked: {error}", "")


def _guarded(check: str, ask: Callable[[], dict[str, str]]) -> dict[str, str] | Finding:
    try:
        return ask()
    except KafkaTXError as error:
        return hint(check, f"cannot be checked: {error}", "")


def _addresses(nodes: Iterable[BrokerNode], uses_tls: bool) -> Iterator[Finding]:
    """Check the addresses that clients are told, from here."""
    fix = "Set advertised.listeners to a name and port that clients reach: `kafkatx docs troubleshooting`."
    for node in nodes:
        address = f"{node.host}:{node.port}"
        try:
            socket.getaddrinfo(node.host, node.port, type=socket.SOCK_STREAM)
        except OSError as error:
            yield wrong("addresses", f"broker {node.id}: {node.host} cannot be resolved here: {error}", fix)
            continue
        try:
            socket.create_connection((node.host, node.port), CONNECT_S).close()
            yield ok("addresses", f"broker {node.id} is reached at {address}")
            days = days_of_port(node.host, node.port, CONNECT_S) if uses_tls else None
        except (OSError, ValueError) as error:
            yield wrong("addresses", f"broker {node.id} cannot be reached at {address}: {error}", fix)
            continue
        if days is not None:
            yield from c.check_certificate(address, days)


def _partitions(cluster: Cluster) -> Iterator[Finding]:
    from kafkatx.blocking import Admin
    from kafkatx.blocking.admin.configs import Configs
    from kafkatx.cli.cluster.health import ask_brokers, health, with_min_isr

    found = cluster.metadata(None)
    state = health(found, ask_brokers(found, cluster.new_connection))
    topics = {name: topic for name, topic in found.topics.items() if topic.partitions}
    least = Configs(cluster).values_of_topics("min.insync.replicas", topics)
    yield from c.check_partitions(with_min_isr(state, least))
    yield from c.check_topics(topics, least, len(found.brokers))
    kept = Configs(cluster).values_of_topics("retention.bytes", topics)
    yield from c.check_retention(topics, kept, Admin(cluster).describe_log_dirs())


def _log_dirs(cluster: Cluster) -> Iterator[Finding]:
    from kafkatx.blocking import Admin

    yield from c.check_log_dirs(Admin(cluster).describe_log_dirs())


def _settings(cluster: Cluster, nodes: list[BrokerNode]) -> Iterator[Finding]:
    from kafkatx.blocking.admin.configs import Configs
    from kafkatx.clientcore.admin.configs import Resource, ResourceType

    for node in nodes:
        found = Configs(cluster).describe(Resource(ResourceType.BROKER, str(node.id)))
        values = {name: entry.value or "" for name, entry in found.items()}
        yield from check_settings(values, f"broker {node.id}", len(nodes))


def broker_answers(cluster: Cluster) -> dict[int, c.BrokerAnswer]:
    """Ask each broker about itself.

    :raises NotKafkatx: one is not kafkatx, or older.
    """
    from kafkatx.blocking.diagnosis.own_requests import OwnRequests
    from kafkatx.wire.messages.describe_broker import DescribeBrokerRequest

    asked_s = [time.monotonic()]

    def take(node: BrokerNode, response: Message) -> tuple[int, c.BrokerAnswer]:
        now_s = time.monotonic()
        half_ms = (now_s - asked_s[0]) * 500
        asked_s[0] = now_s
        return node.id, _answer(node, response, half_ms)

    return dict(OwnRequests(cluster).ask_all(DescribeBrokerRequest(), take))


def _answer(node: BrokerNode, response: Message, half_ms: float) -> c.BrokerAnswer:
    from kafkatx.clientcore.errors import check

    described: DescribeBrokerResponse = response  # type: ignore[assignment]
    check(described.error_code, f"facts of broker {node.id}", described.error_message)
    skew_ms = round(described.time_ms - time.time() * 1000 + half_ms)
    return c.BrokerAnswer(described.broker_version, skew_ms, {one.name: one.value for one in described.facts})


def _machines(cluster: Cluster) -> Iterator[Finding]:
    answers = broker_answers(cluster)
    yield from c.check_answers(answers)
    for broker, one in answers.items():
        yield from check_machine(one.facts, f"broker {broker}")


def _groups(cluster: Cluster) -> dict[str, str]:
    from kafkatx.blocking.admin.groups import Groups

    return {one.group_id: one.state for one in Groups(cluster).listings()}


def _transactions(cluster: Cluster) -> Iterator[Finding]:
    from kafkatx.blocking.admin.transactions import Transactions
    from kafkatx.types import TopicPartition

    places = [
        TopicPartition(name, number)
        for name, topic in sorted(cluster.metadata(None).topics.items())
        for number, partition in topic.partitions.items()
        if not topic.internal and partition.leader >= 0
    ]
    now_ms = int(time.time() * 1000)
    found = Transactions(cluster).hanging(places[:MOST_PARTITIONS], HANGING_MS, now_ms)
    yield from c.check_transactions([f"{one.partition[0]}-{one.partition[1]}" for one in found])
    if len(places) > MOST_PARTITIONS:
        yield hint(
            "hanging-transactions",
            f"only {MOST_PARTITIONS:,} of {counted(len(places), 'partition')} were looked at",
            "`kafkatx transactions hanging TOPIC` looks at the partitions of a topic.",
        )


def examine_files(config_path: str | None, overrides: dict[str, str]) -> Iterator[Finding]:
    """Examine the settings of a broker, its log dirs and this machine; the broker need not run.

    :param overrides: settings in place of those of the file.
    """
    from kafkatx.config import BrokerConfig
    from kafkatx.config.table import log as log_table

    where = config_path or "the defaults"
    try:
        config = BrokerConfig.load(config_path, overrides)
    except KafkaTXError as error:
        yield wrong("settings", f"{where}: {error}", "A broker would not start with it.")
        return
    yield ok("settings", f"{where}: a broker can start with it")
    for warning in config.warnings:
        yield hint("settings", warning, "Remove it from the file.")
    yield from check_settings(effective(config), where)
    try:
        for name, days in days_of_settings(config):
            yield from c.check_certificate(name, days)
    except KafkaTXError as error:
        yield wrong("certificates", str(error), "A broker would not start with it.")
    yield from _directories(config[log_table.LOG_DIRS])


def effective(config: object) -> dict[str, str]:
    """Return the values of all settings as text, without secrets."""
    from kafkatx.config import BrokerConfig, describe_broker

    assert isinstance(config, BrokerConfig)
    return {entry.name: entry.value or "" for entry in describe_broker(config)}


def _directories(paths: Iterable[str]) -> Iterator[Finding]:
    from kafkatx.machine.facts import machine_facts, process_facts, volume_facts

    there: list[str] = []
    pid: int | None = None
    for path in paths:
        if not os.path.isdir(path):
            yield hint("log-dirs", f"{path} does not exist yet", "A broker that starts makes it.")
        elif not os.access(path, os.R_OK | os.W_OK | os.X_OK):
            yield wrong("log-dirs", f"{path} cannot be written by this user", "Give it to the broker's user.")
        else:
            there.append(path)
            pid = pid or _holder(path)
            yield ok("log-dirs", f"{path} can be written")
            yield from _content(path, pid)
    facts = {**process_facts(pid), **machine_facts(), **volume_facts(there)}
    yield from check_machine(facts, "this machine" if pid is None else f"process {pid}")


def _holder(path: str) -> int | None:
    """Return the process id of the broker that has a log dir; None if none has it, or it is not known."""
    from kafkatx.cli.broker.lock_holder import find_broker

    try:
        return find_broker(path).pid
    except OSError:
        return None


def _content(path: str, pid: int | None) -> Iterator[Finding]:
    """Check what a log dir has."""
    from kafkatx.log.checkpoint import CLEAN_SHUTDOWN, META_PROPERTIES

    names = os.listdir(path)
    stray = sorted(name for name in names if name.endswith(STRAY))
    if stray:
        yield hint(
            "stray-logs",
            f"{path} has {counted(len(stray), 'directory')} of no topic: {c.named(stray)}",
            "`kafkatx log adopt` takes them back; delete them if they are not missed.",
        )
    if pid is None and META_PROPERTIES in names and CLEAN_SHUTDOWN not in names:
        yield hint(
            "clean-shutdown",
            f"{path}: its broker was not stopped in order, so the next start checks the ends of all logs",
            "Nothing has to be done; `kafkatx log verify` checks a log now.",
        )
