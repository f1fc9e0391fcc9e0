"""Makes the parts of a client that settings name: an installed plugin, or an object of the application."""

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
    """Return the object or plugin that a setting names; None if it names none. A class is instantiated.

    :raises SettingError: no plugin has this name.
    """
    found = settings.part(setting)
    if isinstance(found, str):
        return _installed(interface, found, setting.name, settings) if found else None
    return found() if isinstance(found, type) else found


def _installed(interface: InterfaceClass, name: str, setting: str, settings: ClientSettings) -> Any:
    """Make an installed plugin with its own settings."""
    return find(interface, name, setting, own_settings(name, settings.explicit))()


def check_plugin_settings(settings: ClientSettings) -> None:
    """Check that settings of plugins belong to installed plugins.

    :raises SettingError: no plugin of a client has the name.
    """
    check_own_settings(
        settings.explicit,
        *(IAssignor, IBalancer, IDecoder, IEncoder, IEventHandler, IPartitioner, IProducerCallbacks),
    )


def assignor(name: str, settings: ClientSettings) -> Any:
    """Return the assignor that ``partition.assignment.strategy`` names.

    :raises SettingError: no plugin has this name.
    """
    return _installed(IAssignor, name, consumer.PARTITION_ASSIGNMENT_STRATEGY.name, settings)


def encoder(settings: ClientSettings, setting: Setting[str]) -> Callable[[str, Any], bytes | None] | None:
    """Return a function from topic and object to bytes; None if messages are bytes already.

    The setting may also be a function of the object alone, in place of an ``IEncoder``.

    :raises SettingError: no plugin has this name.
    """
    return _coder(configured_instance(settings, setting, IEncoder), "encode")


def decoder(settings: ClientSettings, setting: Setting[str]) -> Callable[[str, Any], Any] | None:
    """Return a function from topic and bytes to an object; otherwise as :func:`encoder`."""
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
