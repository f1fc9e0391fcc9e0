"""Makes the parts of a client that settings name: an installed plugin, or an object of the application."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from zope.interface.interface import InterfaceClass

from kafkatx.clientcore.settings import ClientSettings
from kafkatx.clientcore.tables import consumer
from kafkatx.clientcore.tables import registry as registry_table
from kafkatx.config.table.row import Setting
from kafkatx.encoders import BytesEncoder
from kafkatx.extension import check_own_settings, extensions, find, own_settings
from kafkatx.interfaces import (
    IAssignor,
    IBalancer,
    IDecoder,
    IEncoder,
    IEventHandler,
    IPartitioner,
    IProducerCallbacks,
    IRegistryDecoder,
    IRegistryEncoder,
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


def _is_installed(interface: InterfaceClass, name: str) -> bool:
    return any(extension.name == name for extension in extensions(interface))


def check_plugin_settings(settings: ClientSettings) -> None:
    """Check that settings of plugins belong to installed plugins.

    :raises SettingError: no plugin of a client has the name.
    """
    check_own_settings(
        settings.explicit,
        *(IAssignor, IBalancer, IDecoder, IEncoder, IEventHandler, IPartitioner, IProducerCallbacks),
        *(IRegistryDecoder, IRegistryEncoder),
    )


def assignor(name: str, settings: ClientSettings) -> Any:
    """Return the assignor that ``partition.assignment.strategy`` names.

    :raises SettingError: no plugin has this name.
    """
    return _installed(IAssignor, name, consumer.PARTITION_ASSIGNMENT_STRATEGY.name, settings)


def coder_part(
    settings: ClientSettings,
    setting: Setting[str],
    interface: InterfaceClass,
    registry: Callable[[], Any] | None = None,
) -> Any:
    """Return the encoder or decoder that a setting names, or the object itself; None for bytes.

    :param interface: ``IEncoder`` or ``IDecoder``.
    :param registry: returns the client's ``RegistryClient``; None: coders that need one are refused.
    :raises SettingError: no plugin has this name, or a setting of the registry is wrong.
    """
    found = settings.part(setting)
    if registry is not None and isinstance(found, str):
        with_registry: InterfaceClass = IRegistryEncoder if interface is IEncoder else IRegistryDecoder
        if (settings.is_set(registry_table.URL) or not _is_installed(interface, found)) and _is_installed(
            with_registry, found
        ):
            made = _installed(with_registry, found, setting.name, settings)
            made.attach(registry(), settings, setting.name.startswith("key."))
            return made
    made = configured_instance(settings, setting, interface)
    return None if type(made) is BytesEncoder else made


def encoder(settings: ClientSettings, setting: Setting[str]) -> Callable[[str, Any], bytes | None] | None:
    """Return a function from topic and object to bytes; None if messages are bytes already.

    The setting may also be a function of the object alone, in place of an ``IEncoder``.

    :raises SettingError: no plugin has this name.
    """
    return coder(coder_part(settings, setting, IEncoder), "encode")


def decoder(settings: ClientSettings, setting: Setting[str]) -> Callable[[str, Any], Any] | None:
    """Return a function from topic and bytes to an object; otherwise as :func:`encoder`."""
    return coder(coder_part(settings, setting, IDecoder), "decode")


def coder(found: Any, method: str) -> Callable[[str, Any], Any] | None:
    """Return the method of a part, or a function that calls the part itself; None for None."""
    if found is None:
        return None
    bound: Callable[[str, Any], Any] | None = getattr(found, method, None)
    if bound is not None:
        return bound

    def code(topic: str, value: Any) -> Any:
        return found(value)

    return code
