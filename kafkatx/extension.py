"""Plugin lookup: the parts that a setting chooses by name. Imports the modules of installed plugins.

A plugin is an :class:`Extension` object in a module of the ``kafkatx.plugins`` package. Any distribution
may install such a module into ``kafkatx/plugins/`` (no ``__init__.py`` beside it), as for
``twisted.plugins``::

    # kafkatx/plugins/acme_store.py
    from kafkatx.extension import Extension
    from kafkatx.interfaces import ILogStore

    acme = Extension(ILogStore, "acme", "acme.kafka.store:AcmeLogStore", "Records in Acme's store.")

``kafkatx.storage=acme`` then chooses it. The factory's module is imported only when a setting chooses it.

An object that a factory makes must provide the interface; that is checked when it is made. A plugin with
settings of its own provides :class:`~kafkatx.interfaces.IConfigurable` as well, and is given the settings
whose names begin with ``kafkatx.plugin.<name of the plugin>.``.
"""

from __future__ import annotations

import difflib
import functools
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from twisted.plugin import getPlugins
from zope.interface.interface import InterfaceClass

from kafkatx import plugins
from kafkatx.errors import SettingError
from kafkatx.interfaces import IConfigurable
from kafkatx.named_factory import Extension, IExtension
from kafkatx.names import PLUGIN_SETTINGS as PREFIX

__all__ = [
    "Extension",
    "IExtension",
    "check_own_settings",
    "check_provides",
    "described",
    "extensions",
    "find",
    "own_settings",
]


def extensions(provides: InterfaceClass) -> Iterator[IExtension]:
    """Yield every installed extension for one interface."""
    for plugin in getPlugins(IExtension, plugins):
        if plugin.provides is provides:
            yield plugin


def find(
    provides: InterfaceClass, name: str, setting: str, settings: Mapping[str, str] = MappingProxyType({})
) -> Callable[..., Any]:
    """Return the factory of the plugin called *name*; its arguments are in the interface's docstring.

    The factory checks each object that it makes against the interface, and configures it if it can be.

    :param setting: the setting that names the plugin, for error messages.
    :param settings: the plugin's own settings, without their common prefix.
    :raises SettingError: no plugin has this name (the message suggests the nearest), or it cannot be
        imported. The returned factory also raises it: if the object does not provide the interface, or
        rejects its settings.
    """
    known = {extension.name: extension for extension in extensions(provides)}
    if name not in known:
        near = difflib.get_close_matches(name, known) or sorted(known)
        raise SettingError(
            f"{setting}={name}: no plugin for {provides.__name__} has this name;"
            f" did you mean {', '.join(near)}?"
        )
    asked = f"{setting}={name}"
    try:
        factory = known[name].load()
    except Exception as error:  # a third party's module may raise anything
        raise SettingError(f"{asked}: the plugin cannot be imported: {described(error)}") from error

    @functools.wraps(factory)
    def make(*arguments: Any) -> Any:
        made = factory(*arguments)
        check_provides(provides, made, asked)
        _configure(made, asked, settings)
        return made

    return make


def check_provides(provides: InterfaceClass, made: object, asked: str) -> None:
    """Check that an object provides an interface, with all of its attributes and methods.

    :param asked: the setting and its value, for error messages.
    :raises SettingError: it does not; the message says what is missing or wrong.
    """
    from zope.interface.exceptions import Invalid
    from zope.interface.verify import verifyObject

    try:
        # tentative: some parts may not import zope; they have the methods and do not declare the interface
        verifyObject(provides, made, tentative=True)
    except Invalid as error:
        raise SettingError(f"{asked}: it does not provide {provides.__name__}: {described(error)}") from error


def _configure(made: Any, asked: str, settings: Mapping[str, str]) -> None:
    if IConfigurable.providedBy(made):
        made.configure(settings)
    elif settings:
        raise SettingError(f"{min(settings)}: the plugin of {asked} has no settings of its own")


def own_settings(name: str, values: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of the plugin called *name*, without their common prefix."""
    prefix = f"{PREFIX}{name}."
    return {key[len(prefix) :]: value for key, value in values.items() if key.startswith(prefix)}


def check_own_settings(values: Mapping[str, str], *interfaces: InterfaceClass) -> None:
    """Check that each plugin setting belongs to an installed plugin.

    :param interfaces: the interfaces whose plugins can be chosen here.
    :raises SettingError: no plugin has the name; the message suggests the nearest.
    """
    asked = [key for key in values if key.startswith(PREFIX)]
    if not asked:
        return
    known = {extension.name for provides in interfaces for extension in extensions(provides)}
    for key in asked:
        name = next((one for one in known if key.startswith(f"{PREFIX}{one}.")), None)
        if name is None:
            wanted = key[len(PREFIX) :].rpartition(".")[0]
            near = difflib.get_close_matches(wanted, known) or sorted(known)
            raise SettingError(f"{key}: no plugin is called {wanted!r}; did you mean {', '.join(near)}?")


def described(error: BaseException) -> str:
    """Return an error's message on one line, or its class name if the message is empty."""
    return " ".join(str(error).split()) or type(error).__name__
