"""The parts of a client that a setting names: the object itself, or an installed plugin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from zope.interface.interface import InterfaceClass

from kafkatx.clientside.settings import ClientSettings
from kafkatx.clientside.tables import consumer
from kafkatx.config.setting import Setting
from kafkatx.encoders import BytesEncoder
from kafkatx.extension import find
from kafkatx.interfaces import IAssignor, IDecoder, IEncoder


def part(settings: ClientSettings, setting: Setting[str], interface: InterfaceClass) -> Any:
    """The part that a setting names; None where it names none. A class is called for an object of it.

    :raises SettingError: no plugin is called so.
    """
    found = settings.part(setting)
    if isinstance(found, str):
        return find(interface, found, setting.name)() if found else None
    return found() if isinstance(found, type) else found


def assignor(name: str) -> Any:
    """The assignor that ``partition.assignment.strategy`` names.

    :raises SettingError: no plugin is called so.
    """
    return find(IAssignor, name, consumer.PARTITION_ASSIGNMENT_STRATEGY.name)()


def encoder(settings: ClientSettings, setting: Setting[str]) -> Callable[[str, Any], bytes | None] | None:
    """A function from topic and object to bytes; None where messages are bytes already.

    Instead of an ``IEncoder`` a function of the object alone may be set.

    :raises SettingError: no plugin is called so.
    """
    return _coder(part(settings, setting, IEncoder), "encode")


def decoder(settings: ClientSettings, setting: Setting[str]) -> Callable[[str, Any], Any] | None:
    """A function from topic and bytes to an object; as :func:`encoder`."""
    return _coder(part(settings, setting, IDecoder), "decode")


def _coder(found: Any, method: str) -> Callable[[str, Any], Any] | None:
    if found is None or type(found) is BytesEncoder:
        return None
    bound: Callable[[str, Any], Any] | None = getattr(found, method, None)
    if bound is not None:
        return bound

    def code(topic: str, value: Any) -> Any:
        return found(value)

    return code
