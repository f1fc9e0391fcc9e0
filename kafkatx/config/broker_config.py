"""The settings of one broker, read and checked: :class:`BrokerConfig`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeVar

import attrs

from kafkatx.config.listeners import Listener, advertise, check_advertised, for_clients, parse_listeners
from kafkatx.config.properties import read_properties
from kafkatx.config.table import broker as b
from kafkatx.config.table import kafka_only
from kafkatx.config.table.row import Setting
from kafkatx.errors import SettingError
from kafkatx.names import PLUGIN_SETTINGS

T = TypeVar("T")


@attrs.frozen(eq=False, repr=False)
class BrokerConfig:
    """Every setting of a broker: what was set, over the defaults. Made by :meth:`load`.

    While the broker runs, its own dynamic settings go before those of all brokers, and these before what it
    was started with (KIP-226).
    """

    explicit: Mapping[str, str]
    """What was set, by the names that were used, as it was written; the value that counts."""
    layers: tuple[Mapping[str, str], ...]
    """Where it was set, nearest first: dynamic for this broker, dynamic for all, at the start."""
    warnings: tuple[str, ...]
    """What its owner should know: one line for each name that only Apache Kafka has, and the like."""
    _values: dict[str, Any]
    _listeners: tuple[Listener, ...]
    _advertised: tuple[Listener, ...]

    @classmethod
    def load(
        cls, path: str | None = None, overrides: Iterable[tuple[str, str]] | Mapping[str, str] = ()
    ) -> BrokerConfig:
        """Read settings.

        :param path: a .properties file; None: the defaults.
        :param overrides: names and values that go before the file's; the last of a name counts.
        :raises SettingError: the file cannot be read, a name is unknown, a value is not allowed, or values
            contradict each other; the message names the setting, its value and what to do.
        """
        explicit = read_properties(path) if path is not None else {}
        explicit.update(overrides)
        return cls._of(explicit)

    def with_values(self, values: Mapping[str, str]) -> BrokerConfig:
        """These settings with other values for some names.

        :raises SettingError: as :meth:`load`.
        """
        broker, brokers, static = self.layers
        return self._of({**static, **values}, brokers, broker)

    def with_dynamic(self, brokers: Mapping[str, str], broker: Mapping[str, str]) -> BrokerConfig:
        """What this broker was started with, and other dynamic settings, which have been checked.

        :param brokers: those of all brokers.
        :param broker: those of this broker alone.
        :raises SettingError: as :meth:`load`.
        """
        return self._of(dict(self.layers[-1]), brokers, broker)

    def reloaded(self, read: BrokerConfig) -> Reloaded:
        """These settings with the dynamic ones among those that were read again.

        :param read: what a start would have now; its dynamic layers do not matter.
        """
        broker, brokers, static = self.layers
        before = self._of(dict(static))
        after = dict(static)
        changed, fixed = [], []
        for setting in b.SETTINGS.values():
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
        kafka_only.check_safe(static)
        explicit = {**static, **brokers, **broker}
        values = {setting.name: _value(setting, explicit, warnings) for setting in b.SETTINGS.values()}
        listeners, left_out = _listeners(values)
        warnings += left_out
        advertised = _advertised(values, listeners)
        layers = (broker, brokers, MappingProxyType(static))
        return cls(MappingProxyType(explicit), layers, tuple(warnings), values, listeners, advertised)

    def __getitem__(self, setting: Setting[T]) -> T:
        value: T = self._values[setting.name]
        return value

    def get(self, name: str) -> Any:
        """The value of a setting by Kafka's name, parsed; for a name that only Apache Kafka has, its text.

        :raises KeyError: no setting is called so.
        """
        if name in self._values:
            return self._values[name]
        for setting in b.SETTINGS.values():
            if name in setting.aliases:
                return self._values[setting.name]
        if kafka_only.is_kafka_only(name):
            return self.explicit.get(name)
        raise KeyError(name)

    def used_name(self, setting: Setting[Any]) -> str | None:
        """Under which name, its own or an alias, a setting was set; None: its default holds."""
        return _used_name(setting, self.explicit)

    def values_set(self, setting: Setting[T]) -> list[tuple[int, str, T]]:
        """Everywhere that a setting is set: number of the layer, name, value; the first counts."""
        found = []
        for number, layer in enumerate(self.layers):
            name = _used_name(setting, layer)
            if name is not None:
                found.append((number, name, setting.parse(layer[name], name)))
        return found

    def listeners(self) -> tuple[Listener, ...]:
        """Where to listen for clients, at least one place; listeners of controllers are left out."""
        return self._listeners

    def advertised(self, ports: Sequence[int]) -> tuple[str, int]:
        """The host (an IPv6 address without brackets) and port that clients are told.

        :param ports: the ports that were bound, one for each of :meth:`listeners`.
        """
        for told in self._advertised:
            for listener, port in zip(self._listeners, ports, strict=True):
                if told.name == listener.name:
                    return told.host, told.port or port
        host, port = advertise(self._listeners[0], ports[0])
        told_host = self[b.ADVERTISED_HOST_NAME] or self[b.HOST_NAME] or host
        return told_host, self[b.ADVERTISED_PORT] or port


@attrs.frozen
class Reloaded:
    """What came of reading the settings of a running broker again.

    :ivar config: the settings from now on.
    :ivar changed: names of dynamic settings that have another value at the start's layer; a setting that was
        altered while the broker ran keeps that value.
    :ivar fixed: names of settings that were changed too, and need a restart.
    """

    config: BrokerConfig
    changed: tuple[str, ...]
    fixed: tuple[str, ...]


def _check_names(explicit: Mapping[str, str]) -> list[str]:
    known = {name for setting in b.SETTINGS.values() for name in (setting.name, *setting.aliases)}
    warnings = []
    for name in explicit:
        if name in known or name.startswith(PLUGIN_SETTINGS):
            continue
        if not kafka_only.is_kafka_only(name):
            raise SettingError(f"{name}: unknown setting{nearest(name, known)}")
        warnings.append(f"{name}: accepted and not used by kafkatx")
    return warnings


def nearest(name: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown setting: which one may have been meant."""
    import difflib  # only on the way out

    near = difflib.get_close_matches(name, sorted(known), 1) or difflib.get_close_matches(
        name, sorted(kafka_only.NAMES), 1
    )
    return f"; did you mean {near[0]}?" if near else "; see docs/settings.md for those that there are"


def _used_name(setting: Setting[Any], explicit: Mapping[str, str]) -> str | None:
    for name in (setting.name, *setting.aliases):
        if name in explicit and explicit[name].strip() not in setting.legacy:
            return name
    return None


def _value(setting: Setting[T], explicit: Mapping[str, str], warnings: list[str]) -> T:
    """A setting's value; the other names of it are checked too."""
    chosen = _used_name(setting, explicit)
    for name in (setting.name, *setting.aliases):
        if name not in explicit or name == chosen:
            continue
        if explicit[name].strip() in setting.legacy:
            warnings.append(f"{name}={explicit[name]}: taken as not set")
        elif setting is b.BROKER_ID and setting.parse(explicit[name], name) != setting.parse(
            explicit[chosen or name], chosen or name
        ):
            # Kafka refuses it too: which data is whose depends on it
            raise SettingError(
                f"{name}={explicit[name]}: {chosen}={explicit[chosen or name]}; remove one of them"
            )
    return setting.default if chosen is None else setting.parse(explicit[chosen], chosen)


def _listeners(values: Mapping[str, Any]) -> tuple[tuple[Listener, ...], list[str]]:
    """Where to listen, and a warning for each listener that is left out."""
    items = values[b.LISTENERS.name]
    if items is b.LISTENERS.default:
        host, port = values[b.HOST_NAME.name], values[b.PORT.name]
        default = parse_listeners(b.LISTENERS.name, items)[0]
        listener = Listener(
            default.name, default.host if host is None else host, default.port if port is None else port
        )
        return (listener,), []
    every = parse_listeners(b.LISTENERS.name, items)
    controllers = values[b.CONTROLLER_LISTENER_NAMES.name]
    listeners = for_clients(every, values[b.LISTENER_SECURITY_PROTOCOL_MAP.name], controllers)
    left_out = [
        f"listeners={listener}: left out, kafkatx has no KRaft controller"
        for listener in every
        if listener not in listeners
    ]
    return listeners, left_out


def _advertised(values: Mapping[str, Any], listeners: Sequence[Listener]) -> tuple[Listener, ...]:
    """advertised.listeners of the listeners there are, in the order in which they are advertised."""
    name = b.ADVERTISED_LISTENERS.name
    told = parse_listeners(name, values[name])
    controllers = {controller.upper() for controller in values[b.CONTROLLER_LISTENER_NAMES.name]}
    told = tuple(listener for listener in told if listener.name not in controllers)
    there = {listener.name for listener in listeners}
    for listener in told:
        if listener.name not in there:
            raise SettingError(
                f"{name}={listener}: {listener.name} is not in listeners; add it there or remove it"
            )
    check_advertised(told)
    return told
