"""The parts of a client that a setting names: the object itself, or an installed plugin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from zope.interface.interface import InterfaceClass

from kafkatx.clientcore.settings import ClientSettings
from kafkatx.clientcore.tables import consumer
from kafkatx.config.table.row import Setting
from kafkatx.encoders import BytesEncoder
from kafkatx.extension import check_own_settings, find, own_settings
from kafkatx.interfaces import (
    IAssignor,
    IBalancer,
    IDecoder,
    IEncoder,
    IEventHandler,
    IPartitioner,
    IProducerCallbacks,
)


def configured_instance(settings: ClientSettings, setting: Setting[str], interface: InterfaceClass) -> Any:
    """The part that a setting names; None where it names none. A class is called for an object of it.

    :raises SettingError: no plugin is called so.
    """
    found = settings.part(setting)
    if isinstance(found, str):
        return _installed(interface, found, setting.name, settings) if found else None
    return found() if isinstance(found, type) else found


def _installed(interface: InterfaceClass, name: str, setting: str, settings: ClientSettings) -> Any:
    """Make the part of an installed plugin, with the plugin's own settings."""
    return find(interface, name, setting, own_settings(name, settings.explicit))()


def check_plugin_settings(settings: ClientSettings) -> None:
    """Check that the settings of plugins are those of plugins that are installed.

    :raises SettingError: no plugin of a client has the name.
    """
    check_own_settings(
        settings.explicit,
        *(IAssignor, IBalancer, IDecoder, IEncoder, IEventHandler, IPartitioner, IProducerCallbacks),
    )


def assignor(name: str, settings: ClientSettings) -> Any:
    """The assignor that ``partition.assignment.strategy`` names.

    :raises SettingError: no plugin is called so.
    """
    return _installed(IAssignor, name, consumer.PARTITION_ASSIGNMENT_STRATEGY.name, settings)


def encoder(settings: ClientSettings, setting: Setting[str]) -> Callable[[str, Any], bytes | None] | None:
    """A function from topic and object to bytes; None where messages are bytes already.

    Instead of an ``IEncoder`` a function of the object alone may be set.

    :raises SettingError: no plugin is called so.
    """
    return _coder(configured_instance(settings, setting, IEncoder), "encode")


def decoder(settings: ClientSettings, setting: Setting[str]) -> Callable[[str, Any], Any] | None:
    """A function from topic and bytes to an object; as :func:`encoder`."""
    return _coder(configured_instance(settings, setting, IDecoder), "decode")


def _coder(found: Any, method: str) -> Callable[[str, Any], Any] | None:
    if found is None or type(found) is BytesEncoder:
        return None
    bound: Callable[[str, Any], Any] | None = getattr(found, method, None)
    if bound is not None:
        return bound

    def code(topic: str, value: Any) -> Any:
        return found(value)

    return code
