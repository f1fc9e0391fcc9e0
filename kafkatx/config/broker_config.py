"""The settings of one broker, read and checked: :class:`BrokerConfig`. Reads the settings file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeAlias, TypeVar

import attrs

from kafkatx.config.cluster import ZOOKEEPER, choose_store, refuse_quorum, warn_of_copies
from kafkatx.config.listeners import (
    Listener,
    ListenerConfig,
    advertise,
    check_advertised,
    check_inter_broker,
    check_overrides,
    for_clients,
    inter_broker_name,
    is_loopback,
    override,
    parse_http_listeners,
    parse_listeners,
)
from kafkatx.config.properties import read_properties
from kafkatx.config.table import broker as b
from kafkatx.config.table import kafka_only
from kafkatx.config.table import network as n
from kafkatx.config.table.mirror.names import check_link_setting, incomplete_links, link_rows
from kafkatx.config.table.mirror.rows import PREFIX as OF_LINKS
from kafkatx.config.table.row import Setting
from kafkatx.errors import SettingError
from kafkatx.names import PLUGIN_SETTINGS
from kafkatx.nodes import Endpoint

T = TypeVar("T")

_TAKEN_AS_NOT_SET = ": taken as not set"

Values: TypeAlias = dict[str, Any]
"""Parsed values by the names of settings; :meth:`BrokerConfig.__getitem__` knows their types."""


@attrs.frozen(eq=False, repr=False)
class BrokerConfig:
    """The value of every setting of a broker. Made by :meth:`load`.

    While the broker runs, its own dynamic settings take precedence over those of all brokers, and these over
    the settings that it was started with (KIP-226).
    """

    explicit: Mapping[str, str]
    """The effective text of each setting that was set, by the name that was used."""
    layers: tuple[Mapping[str, str], ...]
    """The texts by source, the highest precedence first: dynamic for this broker, dynamic for all, static."""
    warnings: tuple[str, ...]
    """Lines for the operator: one for each name that only Apache Kafka has, and similar ones."""
    _values: Values
    _listeners: tuple[Listener, ...]
    _advertised: tuple[Listener, ...]

    @classmethod
    def load(
        cls, path: str | None = None, overrides: Iterable[tuple[str, str]] | Mapping[str, str] = ()
    ) -> BrokerConfig:
        """Read settings.

        :param path: a .properties file; None: the defaults.
        :param overrides: names and values that replace the file's; the last one of a name counts.
        :raises SettingError: the file cannot be read, a name is unknown, a value is not allowed, or values
            contradict each other; the message names the setting, its value and what to do.
        """
        explicit = read_properties(path) if path is not None else {}
        explicit.update(overrides)
        return cls._of(explicit)

    def with_values(self, values: Mapping[str, str]) -> BrokerConfig:
        """Return these settings with other static values for some names.

        :raises SettingError: as :meth:`load`.
        """
        broker, brokers, static = self.layers
        return self._of({**static, **values}, brokers, broker)

    def with_dynamic(self, brokers: Mapping[str, str], broker: Mapping[str, str]) -> BrokerConfig:
        """Return the static settings with other dynamic settings, which must have been checked.

        :param brokers: the dynamic settings of all brokers.
        :param broker: the dynamic settings of this broker alone.
        :raises SettingError: as :meth:`load`.
        """
        return self._of(dict(self.layers[-1]), brokers, broker)

    def reloaded(self, read: BrokerConfig) -> Reloaded:
        """Return these settings with the dynamic ones among settings that were read again.

        :param read: the settings that a start would have now; its dynamic layers are ignored.
        """
        broker, brokers, static = self.layers
        before = self._of(dict(static))
        after = dict(static)
        changed, fixed = [], []
        of_links = link_rows({**read.explicit, **before.explicit})
        for setting in (*b.SETTINGS.values(), *of_links):
            if read[setting] == before[setting]:
                continue
            if not setting.dynamic:
                fixed.append(setting.name)
                continue
            changed.append(setting.name)
            for name in (setting.name, *setting.aliases):
                after.pop(name, None)
                if name in read.layers[-1]:
                    after[name] = read.layers[-1][name]
        return Reloaded(self._of(after, brokers, broker), tuple(changed), tuple(fixed))

    @classmethod
    def _of(
        cls,
        static: dict[str, str],
        brokers: Mapping[str, str] = MappingProxyType({}),
        broker: Mapping[str, str] = MappingProxyType({}),
    ) -> BrokerConfig:
        warnings = _check_names(static)
        explicit = {**static, **brokers, **broker}
        rows = (*b.SETTINGS.values(), *link_rows(explicit))
        values = {setting.name: _value(setting, explicit, warnings) for setting in rows}
        warnings += incomplete_links(static)
        check_overrides(explicit)
        warnings += choose_store(values, _used_name(b.KAFKATX_METADATA_STORE, explicit) is not None)
        refuse_quorum(explicit, str(values[b.KAFKATX_METADATA_STORE.name]))
        if values[b.KAFKATX_METADATA_STORE.name] == ZOOKEEPER:  # a broker without an id generates one
            warnings = [text for text in warnings if not text.endswith(_TAKEN_AS_NOT_SET)]
        listeners, ignored = _listeners(values)
        warnings += ignored + warn_of_copies(values)
        advertised = _advertised(values, listeners)
        check_inter_broker(values, listeners)
        _check_http(values)
        layers = (broker, brokers, MappingProxyType(static))
        return cls(MappingProxyType(explicit), layers, tuple(warnings), values, listeners, advertised)

    def __getitem__(self, setting: Setting[T]) -> T:
        value: T = self._values.get(setting.name, setting.default)  # settings of links are there if set
        return value

    def rows(self) -> list[Setting[object]]:
        """Return the row of every setting: those of the table, and the settings of links that are set."""
        return [*b.SETTINGS.values(), *link_rows(self.explicit)]

    def get(self, name: str) -> Any:
        """Return the value of a setting by its name; for a name that only Apache Kafka has, its text.

        :raises KeyError: there is no such setting.
        """
        if name in self._values:
            return self._values[name]
        for setting in b.SETTINGS.values():
            if name in setting.aliases:
                return self._values[setting.name]
        if kafka_only.is_kafka_only(name):
            return self.explicit.get(name)
        raise KeyError(name)

    def of_listener(self, listener: str) -> ListenerConfig:
        """Return the settings of one listener: its own ones before those of all listeners."""
        return ListenerConfig(self, self.explicit, listener)

    def used_name(self, setting: Setting[object]) -> str | None:
        """Return the name, its own or an alias, by which a setting was set; None if its default applies."""
        return _used_name(setting, self.explicit)

    def values_set(self, setting: Setting[T]) -> list[tuple[int, str, T]]:
        """Return the values of a setting as (number of the layer, name, value); the first one counts."""
        found = []
        for number, layer in enumerate(self.layers):
            name = _used_name(setting, layer)
            if name is not None:
                found.append((number, name, setting.parse(layer[name], name)))
        return found

    def listeners(self) -> tuple[Listener, ...]:
        """Return the listeners for clients, at least one; listeners of controllers are omitted."""
        return self._listeners

    def http_listeners(self) -> tuple[Listener, ...]:
        """Return the listeners for HTTP, mostly none."""
        return parse_http_listeners(n.HTTP_LISTENERS.name, self[n.HTTP_LISTENERS])

    def http_advertised(self, ports: Sequence[int], host: str) -> Endpoint | None:
        """Return the address of the HTTP listener for other brokers; None if they cannot reach one.

        :param ports: the bound ports, one for each of :meth:`http_listeners`.
        :param host: the host by which they reach this broker's other listeners. If that is not a loopback
            address, they may be on other machines.
        """
        listeners = self.http_listeners()
        if not listeners:
            return None
        text = self[n.HTTP_ADVERTISED_LISTENER]
        if text is not None:
            advertised = parse_http_listeners(n.HTTP_ADVERTISED_LISTENER.name, [text])[0]
            port = advertised.port or ports[0]
            return Endpoint(advertised.name, advertised.host, port, advertised.protocol)
        first = listeners[0]
        http_host, port = advertise(first, ports[0])
        if is_loopback(http_host) and not is_loopback(host):
            return None
        return Endpoint(first.name, http_host, port, first.protocol)

    def advertised(self, ports: Sequence[int]) -> tuple[str, int]:
        """Return the advertised host (an IPv6 address without brackets) and port.

        :param ports: the bound ports, one for each of :meth:`listeners`.
        """
        first = self.endpoints(ports)[0]
        return first.host, first.port

    def endpoints(self, ports: Sequence[int]) -> tuple[Endpoint, ...]:
        """Return the advertised address of each listener; without advertised.listeners, of all of them.

        :param ports: as for :meth:`advertised`.
        """
        if self._advertised:
            return tuple(self._endpoint(one.name, one.host, one.port, ports) for one in self._advertised)
        addresses = [advertise(listener, port) for listener, port in zip(self._listeners, ports, strict=True)]
        host, port = addresses[0]
        old_host = self[n.ADVERTISED_HOST_NAME] or self[n.HOST_NAME] or host
        addresses[0] = old_host, self[n.ADVERTISED_PORT] or port
        return tuple(
            self._endpoint(listener.name, *address, ports)
            for listener, address in zip(self._listeners, addresses, strict=True)
        )

    def _endpoint(self, name: str, host: str, port: int, ports: Sequence[int]) -> Endpoint:
        number = self._number_of(name)
        return Endpoint(name, host, port or ports[number], self._listeners[number].protocol)

    def _number_of(self, name: str) -> int:
        return next(number for number, one in enumerate(self._listeners) if one.name == name)

    @property
    def inter_broker(self) -> Listener:
        """The listener for other brokers: ``inter.broker.listener.name``, else the first advertised one."""
        name = inter_broker_name(self._values) or (self._advertised or self._listeners)[0].name
        return self._listeners[self._number_of(name)]

    def inter_broker_port(self, ports: Sequence[int]) -> int:
        """Return the bound port of the listener for other brokers (``inter.broker.listener.name``).

        :param ports: as for :meth:`advertised`.
        """
        return ports[self._number_of(self.inter_broker.name)]

    def internal(self, ports: Sequence[int]) -> tuple[str, int] | None:
        """Return host and port for other brokers; None if they are those that are advertised to clients.

        :param ports: as for :meth:`advertised`.
        """
        name = self.inter_broker.name
        if name == (self._advertised or self._listeners)[0].name:
            return None
        number = self._number_of(name)
        for advertised in self._advertised:
            if advertised.name == name:
                return advertised.host, advertised.port or ports[number]
        return advertise(self._listeners[number], ports[number])


@attrs.frozen
class Reloaded:
    """The result of reading the settings of a running broker again.

    :ivar config: the new settings.
    :ivar changed: names of dynamic settings whose static value has changed; a setting that was altered while
        the broker ran keeps that value.
    :ivar fixed: names of changed settings that need a restart.
    """

    config: BrokerConfig
    changed: tuple[str, ...]
    fixed: tuple[str, ...]


def _check_names(explicit: Mapping[str, str]) -> list[str]:
    known = {name for setting in b.SETTINGS.values() for name in (setting.name, *setting.aliases)}
    warnings = []
    for name in explicit:
        if name in known or name.startswith(PLUGIN_SETTINGS) or override(name):
            continue
        if name.startswith(OF_LINKS):
            check_link_setting(name)
            continue
        if not kafka_only.is_kafka_only(name):
            raise SettingError(f"{name}: unknown setting{nearest(name, known)}")
        warnings.append(f"{name}: accepted and not used by kafkatx")
    return warnings


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the end of a message about an unknown setting: a suggestion."""
    import difflib  # only for an error message

    near = difflib.get_close_matches(name, sorted(known), 1) or difflib.get_close_matches(
        name, sorted(kafka_only.NAMES), 1
    )
    return f"; did you mean {near[0]}?" if near else "; see `kafkatx docs settings` for all settings"


def _used_name(setting: Setting[object], explicit: Mapping[str, str]) -> str | None:
    for name in (setting.name, *setting.aliases):
        if name in explicit and explicit[name].strip() not in setting.legacy:
            return name
    return None


def _value(setting: Setting[T], explicit: Mapping[str, str], warnings: list[str]) -> T:
    """Return a setting's value; texts under its other names are checked too."""
    chosen = _used_name(setting, explicit)
    for name in (setting.name, *setting.aliases):
        if name not in explicit or name == chosen:
            continue
        if explicit[name].strip() in setting.legacy:
            warnings.append(f"{name}={explicit[name]}{_TAKEN_AS_NOT_SET}")
        elif setting is b.BROKER_ID and setting.parse(explicit[name], name) != setting.parse(
            explicit[chosen or name], chosen or name
        ):
            # Kafka rejects it too: the id decides which broker the data belongs to
            raise SettingError(
                f"{name}={explicit[name]}: {chosen}={explicit[chosen or name]}; remove one of them"
            )
    return setting.default if chosen is None else setting.parse(explicit[chosen], chosen)


def _listeners(values: Values) -> tuple[tuple[Listener, ...], list[str]]:
    """Return the listeners for clients, and a warning for each omitted listener."""
    items = values[n.LISTENERS.name]
    if items is n.LISTENERS.default:
        host, port = values[n.HOST_NAME.name], values[n.PORT.name]
        default = parse_listeners(n.LISTENERS.name, items)[0]
        listener = Listener(
            default.name, default.host if host is None else host, default.port if port is None else port
        )
        return (listener,), []
    every = parse_listeners(n.LISTENERS.name, items)
    controllers = values[n.CONTROLLER_LISTENER_NAMES.name]
    listeners = for_clients(every, values[n.LISTENER_SECURITY_PROTOCOL_MAP.name], controllers)
    used = {listener.name for listener in listeners}
    ignored = [
        f"listeners={listener}: ignored, kafkatx has no KRaft controller"
        for listener in every
        if listener.name not in used
    ]
    return listeners, ignored


def _check_http(values: Values) -> None:
    """Check the listeners for HTTP.

    :raises SettingError: one cannot be read, would get passwords in clear text, or the advertised one is no
        address; clients need both a login and none.
    """
    name, logins = n.HTTP_AUTHENTICATION.name, values[n.HTTP_AUTHENTICATION.name]
    if "none" in logins and set(logins) != {"none"}:
        raise SettingError(f"{name}={','.join(logins)}: leave none out, or the others")
    for listener in parse_http_listeners(n.HTTP_LISTENERS.name, values[n.HTTP_LISTENERS.name]):
        if "none" not in logins and not listener.has_tls and not is_loopback(listener.host):
            raise SettingError(
                f"{name}={','.join(logins)}: passwords or tokens would cross the network in clear text at"
                f" {n.HTTP_LISTENERS.name}={listener}; use HTTPS"
            )
    advertised = values[n.HTTP_ADVERTISED_LISTENER.name]
    if advertised is not None:
        for listener in parse_http_listeners(n.HTTP_ADVERTISED_LISTENER.name, [advertised]):
            if listener.host in ("", "0.0.0.0", "::"):
                raise SettingError(
                    f"{n.HTTP_ADVERTISED_LISTENER.name}={advertised}: use the host or address by which other"
                    " brokers reach this one"
                )


def _advertised(values: Values, listeners: Sequence[Listener]) -> tuple[Listener, ...]:
    """Return the advertised listeners in their order, without those of controllers."""
    name = n.ADVERTISED_LISTENERS.name
    advertised = parse_listeners(name, values[name])
    controllers = {controller.upper() for controller in values[n.CONTROLLER_LISTENER_NAMES.name]}
    advertised = tuple(listener for listener in advertised if listener.name not in controllers)
    names = {listener.name for listener in listeners}
    for listener in advertised:
        if listener.name not in names:
            raise SettingError(
                f"{name}={listener}: {listener.name} is not in listeners; add it there or remove it"
            )
    check_advertised(advertised)
    return advertised
