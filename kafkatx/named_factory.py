"""The extension: a value that names a plugin, the interface that it provides, and its factory.

Plugins import it as ``kafkatx.extension.Extension``; that module also finds the installed ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twisted.plugin import IPlugin
from twisted.python.reflect import namedAny
from zope.interface import Attribute, Interface, implementer
from zope.interface.interface import InterfaceClass


class IExtension(Interface):
    """A named factory for objects that provide an interface."""

    provides = Attribute("The interface (from kafkatx.interfaces) that the made objects provide.")
    name = Attribute("The value of a setting that chooses it: lower-case letters, digits, '-', '+'.")
    factory = Attribute("The factory's path: ``package.module:attribute``.")
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
