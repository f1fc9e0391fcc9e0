"""The brokers of one machine, planned from the settings of one: ids, ports, directories. Pure.

Broker number k of N listens at the given port + k, and all of them at the given port together, the bootstrap
port. Its log dirs are folders, named by its id, in those that are given. A data directory that one broker has
used before is taken over as it is by the broker of that id, which replaces the first if its id is not among
the others'.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence

import attrs

from kafkatx.config import BrokerConfig
from kafkatx.config.cluster import ZOOKEEPER
from kafkatx.config.listeners import Listener, parse_http_listeners
from kafkatx.config.table import broker as b
from kafkatx.config.table import log as log_table
from kafkatx.config.table import network as n
from kafkatx.config.table import zookeeper as z
from kafkatx.config.table.row import Setting
from kafkatx.errors import SettingError

LOCAL = "local"
EMBEDDED = "embedded"
MEMORY = "memory"
MAX_BROKERS = 256
MAX_PORT = 65535


@attrs.frozen
class BrokerPlan:
    """One broker.

    :ivar name: its id, or its number where the id is generated; names it in the log.
    :ivar overrides: settings that go before all others.
    :ivar directory: its first log dir.
    """

    name: str
    overrides: tuple[tuple[str, str], ...]
    directory: str


@attrs.frozen
class Plan:
    """The brokers of one machine.

    :ivar directory: the first of the given log dirs: the supervisor's files are there.
    :ivar local: True if the supervisor keeps the cluster's state, False if ZooKeeper does.
    :ivar host: host of the bootstrap port, which may be empty for every interface.
    :ivar port: the bootstrap port, 0 for any free one.
    :ivar advertised: host that clients are told.
    """

    directory: str
    local: bool
    host: str
    port: int
    advertised: str
    brokers: tuple[BrokerPlan, ...]


def make_plan(config: BrokerConfig, count: int, past_id: int | None, hostname: str | None = None) -> Plan:
    """Plan the brokers.

    :param config: the settings of one broker, checked.
    :param count: number of brokers.
    :param past_id: id of the one broker that has used the log dirs; None if none has.
    :param hostname: this machine's name; found out if not given.
    :raises SettingError: the settings are not for several brokers.
    """
    if config[b.KAFKATX_STORAGE] == MEMORY:
        raise SettingError("kafkatx.storage=memory: several brokers need a data directory; leave it out")
    store = config[b.KAFKATX_METADATA_STORE]
    if store not in (LOCAL, EMBEDDED, ZOOKEEPER):
        raise SettingError(
            f"kafkatx.metadata.store={store}: --brokers needs local or zookeeper; leave it out"
        )
    local = store != ZOOKEEPER
    ids = _ids(config, count, past_id, generated=not local)
    log_dirs = [os.path.abspath(path) for path in config[log_table.LOG_DIRS]]
    rack = None if local else config[b.BROKER_RACK] or hostname or socket.gethostname()
    brokers = []
    past = 1 + (ids.index(past_id) if past_id in ids else 0)
    for number, broker_id in enumerate(ids, 1):
        name = str(number if broker_id < 0 else broker_id)
        taken_over = past_id is not None and number == past
        own_dirs = log_dirs if taken_over else [os.path.join(path, name) for path in log_dirs]
        overrides = [
            *(_named(config, b.BROKER_ID, str(broker_id)) if broker_id >= 0 else ()),
            *_named(config, log_table.LOG_DIRS, ",".join(own_dirs)),
            *_ports(config, number),
            *_http_ports(config, number),
        ]
        if local:
            overrides.append((b.KAFKATX_METADATA_STORE.name, LOCAL))
        elif rack is not None:
            overrides += _named(config, b.BROKER_RACK, rack)
        brokers.append(BrokerPlan(name, tuple(overrides), own_dirs[0]))
    first = config.listeners()[0]
    _check_ports(config, count)
    host, _ = config.advertised([listener.port for listener in config.listeners()])
    return Plan(log_dirs[0], local, first.host, first.port, host, tuple(brokers))


def with_addresses(plan: Plan, port: int, socket_path: str) -> Plan:
    """Return the plan with what is known when the supervisor listens.

    :param port: the bootstrap port.
    :param socket_path: path of the socket of the cluster's state.
    """
    more: tuple[tuple[str, str], ...] = ((z.KAFKATX_BOOTSTRAP_PORT.name, str(port)),)
    if plan.local:
        more += ((z.KAFKATX_LOCAL_SOCKET.name, socket_path),)
    brokers = tuple(attrs.evolve(each, overrides=each.overrides + more) for each in plan.brokers)
    return attrs.evolve(plan, port=port, brokers=brokers)


def _ids(config: BrokerConfig, count: int, past_id: int | None, generated: bool) -> list[int]:
    """Return the brokers' ids; -1 for one that is to be generated."""
    given = config.used_name(b.BROKER_ID) is not None and config[b.BROKER_ID] >= 0
    if generated and not given:
        return [-1] * count
    first = config[b.BROKER_ID] if given else 1
    ids = list(range(first, first + count))
    if past_id is not None and past_id not in ids:
        ids[0] = past_id
    return ids


def _named(config: BrokerConfig, setting: Setting[object], value: str) -> list[tuple[str, str]]:
    """Return overrides of a setting by each name that it was given by."""
    names = [name for name in (setting.name, *setting.aliases) if name in config.explicit]
    return [(name, value) for name in dict.fromkeys([setting.name, *names])]


def _http_ports(config: BrokerConfig, number: int) -> list[tuple[str, str]]:
    """Return the HTTP listeners of a broker: the first has the given ports, the second the next ones."""
    listeners = config.http_listeners()
    if not listeners or number == 1:
        return []
    overrides = [(n.HTTP_LISTENERS.name, ",".join(str(_moved(one, number - 1)) for one in listeners))]
    if n.HTTP_ADVERTISED_LISTENER.name in config.explicit:
        advertised = parse_http_listeners(
            n.HTTP_ADVERTISED_LISTENER.name, [config.explicit[n.HTTP_ADVERTISED_LISTENER.name]]
        )
        overrides.append((n.HTTP_ADVERTISED_LISTENER.name, str(_moved(advertised[0], number - 1))))
    return overrides


def _ports(config: BrokerConfig, number: int) -> list[tuple[str, str]]:
    """Return the listeners of a broker, and their advertised ports."""
    listeners = [_moved(listener, number) for listener in config.listeners()]
    overrides = [(n.LISTENERS.name, ",".join(map(str, listeners)))]
    advertised = config.explicit.get(n.ADVERTISED_LISTENERS.name, "").strip()
    if advertised:
        from kafkatx.config.listeners import parse_listeners

        moved = [
            str(_moved(listener, number))
            for listener in parse_listeners(n.ADVERTISED_LISTENERS.name, advertised.split(","))
        ]
        overrides.append((n.ADVERTISED_LISTENERS.name, ",".join(moved)))
    port = config[n.ADVERTISED_PORT]
    if port:
        overrides.append((n.ADVERTISED_PORT.name, str(port + number)))
    return overrides


def _moved(listener: Listener, number: int) -> Listener:
    return listener._replace(port=listener.port + number) if listener.port else listener


def _check_ports(config: BrokerConfig, count: int) -> None:
    """Check that no two of the brokers' ports are the same.

    :raises SettingError: two are, or one is too large.
    """
    ports: dict[tuple[str, int], Listener] = {}
    first = config.listeners()[0]
    wanted: Sequence[Listener] = [
        first,
        *(_moved(each, number) for number in range(1, count + 1) for each in config.listeners()),
    ]
    for listener in wanted:
        if not listener.port:
            continue
        if listener.port > MAX_PORT:
            raise SettingError(
                f"{listener.name}: {count} brokers need the ports up to {first.port + count}, and there are"
                f" {MAX_PORT}; choose a lower port"
            )
        if (listener.host, listener.port) in ports:
            raise SettingError(
                f"listeners: {count} brokers would listen at port {listener.port} twice: each takes the next"
                " port of each listener; choose ports further apart"
            )
        ports[listener.host, listener.port] = listener
