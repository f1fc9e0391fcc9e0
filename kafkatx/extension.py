"""Plugin lookup: the parts that a setting chooses by name.

A plugin is an :class:`Extension` object in a module of the ``kafkatx.plugins`` package. Any distribution
may install such a module into ``kafkatx/plugins/`` (no ``__init__.py`` beside it), as for
``twisted.plugins``::

    # kafkatx/plugins/acme_store.py
    from kafkatx.extension import Extension
    from kafkatx.interfaces import ILogStore

    acme = Extension(ILogStore, "acme", "acme.kafka.store:AcmeLogStore", "Records in Acme's store.")

``kafkatx.storage=acme`` then chooses it. The factory's module is imported only when it is chosen.

An object that a factory makes must provide the interface; that is checked when it is made. A plugin with
settings of its own provides :class:`~kafkatx.interfaces.IConfigurable` as well, and gets those whose names
begin with ``kafkatx.plugin.<name of the plugin>.``.
"""

from __future__ import annotations

import difflib
import functools
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from twisted.plugin import IPlugin, getPlugins
from twisted.python.reflect import namedAny
from zope.interface import Attribute, Interface, implementer
from zope.interface.interface import InterfaceClass

from kafkatx import plugins
from kafkatx.errors import SettingError
from kafkatx.interfaces import IConfigurable
from kafkatx.names import PLUGIN_SETTINGS as PREFIX


class IExtension(Interface):
    """A named factory for objects that provide an interface."""

    provides = Attribute("The interface (from kafkatx.interfaces) that the made objects provide.")
    name = Attribute("What a setting's value says to choose it: lower-case letters, digits, '-', '+'.")
    factory = Attribute("Where the factory is: ``package.module:attribute``.")
    doc = Attribute("One sentence for a person.")

    def load() -> Callable[..., Any]:
        """Import and return the factory; its arguments are in the interface's docstring."""


@implementer(IPlugin, IExtension)
class Extension:
    """An :class:`IExtension` whose factory is named by ``package.module:attribute``."""

    def __init__(self, provides: InterfaceClass, name: str, factory: str, doc: str) -> None:
        self.provides = provides
        self.name = name
        self.doc = doc
        self.factory = factory

    def load(self) -> Callable[..., Any]:
        """Import the factory.

        :raises ImportError: its module cannot be imported.
        :raises AttributeError: the module lacks it.
        """
        factory: Callable[..., Any] = namedAny(self.factory.replace(":", "."))
        return factory


def extensions(provides: InterfaceClass) -> Iterator[IExtension]:
    """Every installed extension for one interface."""
    for plugin in getPlugins(IExtension, plugins):
        if plugin.provides is provides:
            yield plugin


def find(
    provides: InterfaceClass, name: str, setting: str, settings: Mapping[str, str] = MappingProxyType({})
) -> Callable[..., Any]:
    """Return the factory called *name*; it takes what the interface's docstring says.

    What it makes is configured, if it can be, and checked against the interface.

    :param setting: the setting that asked for it, for the error's sake.
    :param settings: the plugin's own settings, without their common beginning.
    :raises SettingError: no plugin has this name (the nearest are suggested), or it cannot be imported. The
        returned factory raises it, too: the object does not provide the interface, or refuses its settings.
    """
    known = {extension.name: extension for extension in extensions(provides)}
    if name not in known:
        near = difflib.get_close_matches(name, known) or sorted(known)
        raise SettingError(
            f"{setting}={name}: no plugin for {provides.__name__} is called so;"
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

    :param asked: the setting and its value, for the error's sake.
    :raises SettingError: it does not; the message says what is missing or wrong.
    """
    from zope.interface.exceptions import Invalid
    from zope.interface.verify import verifyObject

    try:
        # tentative: some parts may not import zope, and have the methods without declaring the interface
        verifyObject(provides, made, tentative=True)
    except Invalid as error:
        raise SettingError(f"{asked}: the plugin is no {provides.__name__}: {described(error)}") from error


def _configure(made: Any, asked: str, settings: Mapping[str, str]) -> None:
    if IConfigurable.providedBy(made):
        made.configure(settings)
    elif settings:
        raise SettingError(f"{min(settings)}: the plugin of {asked} has no settings of its own")


def own_settings(name: str, values: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of the plugin called *name*, by names without their common beginning."""
    prefix = f"{PREFIX}{name}."
    return {key[len(prefix) :]: value for key, value in values.items() if key.startswith(prefix)}


def check_own_settings(values: Mapping[str, str], *interfaces: InterfaceClass) -> None:
    """Check that each setting of a plugin is one of a plugin that is installed.

    :param interfaces: those for which plugins can be chosen here.
    :raises SettingError: no plugin has the name; the nearest are suggested.
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
    """Return an error's message on one line; its class where there is none."""
    return " ".join(str(error).split()) or type(error).__name__
