"""Plugin lookup: the parts that a setting chooses by name.

A plugin is an :class:`Extension` object in a module of the ``kafkatx.plugins`` package. Any distribution
may install such a module into ``kafkatx/plugins/`` (no ``__init__.py`` beside it), as for
``twisted.plugins``::

    # kafkatx/plugins/acme_store.py
    from kafkatx.extension import Extension
    from kafkatx.interfaces import ILogStore

    acme = Extension(ILogStore, "acme", "acme.kafka.store:AcmeLogStore", "Records in Acme's store.")

``kafkatx.storage=acme`` then chooses it. The factory's module is imported only when it is chosen.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator
from typing import Any

from twisted.plugin import IPlugin, getPlugins
from twisted.python.reflect import namedAny
from zope.interface import Attribute, Interface, implementer
from zope.interface.interface import InterfaceClass

from kafkatx import plugins
from kafkatx.errors import SettingError


class IExtension(Interface):
    """A named factory for objects that provide an interface."""

    provides = Attribute("The interface (from kafkatx.interfaces) that the made objects provide.")
    name = Attribute("What a setting's value says to choose it: lower-case letters, digits, '-', '+'.")
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
        self._factory = factory

    def load(self) -> Callable[..., Any]:
        """Import the factory.

        :raises ImportError: its module cannot be imported.
        :raises AttributeError: the module lacks it.
        """
        factory: Callable[..., Any] = namedAny(self._factory.replace(":", "."))
        return factory


def extensions(provides: InterfaceClass) -> Iterator[IExtension]:
    """Every installed extension for one interface."""
    for plugin in getPlugins(IExtension, plugins):
        if plugin.provides is provides:
            yield plugin


def find(provides: InterfaceClass, name: str, setting: str) -> Callable[..., Any]:
    """Return the factory called *name*.

    :param setting: the setting that asked for it, for the error's sake.
    :raises SettingError: none is called so; the nearest names are suggested.
    """
    known = {extension.name: extension for extension in extensions(provides)}
    if name in known:
        return known[name].load()
    near = difflib.get_close_matches(name, known) or sorted(known)
    raise SettingError(
        f"{setting}={name}: no plugin for {provides.__name__} is called so; did you mean {', '.join(near)}?"
    )
