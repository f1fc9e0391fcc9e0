"""The built-in plugins can be found, imported and made."""

from __future__ import annotations

from collections import Counter

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.extension import Extension, extensions, find
from kafkatx.interfaces import (
    IAssignor,
    IAuthorizer,
    IDecoder,
    ILogStore,
    IMetadataStore,
    IPartitioner,
    IRecordFilter,
    IRetentionPolicy,
)
from kafkatx.plugins import builtin

NEED_ARGUMENTS = {
    (ILogStore, "file"),
    (ILogStore, "memory"),
    (IMetadataStore, "embedded"),
    (IMetadataStore, "zookeeper"),
    (IMetadataStore, "local"),
    (IDecoder, "avro"),
    (IRecordFilter, "regex"),
    (IAuthorizer, "acl"),
    (IAuthorizer, "learn"),
}
"""Plugins whose factory takes arguments, or which need settings."""

BUILT_IN = [found for found in vars(builtin).values() if isinstance(found, Extension)]


class BuiltinTests(SynchronousTestCase):
    def test_provides(self) -> None:
        """Each plugin without arguments and settings makes an object that provides its interface."""
        for one in BUILT_IN:
            if (one.provides, one.name) not in NEED_ARGUMENTS:
                find(one.provides, one.name, "setting")()

    def test_factories(self) -> None:
        """The factory of every plugin can be imported and called."""
        for one in BUILT_IN:
            self.assertTrue(callable(one.load()), one.factory)

    def test_names(self) -> None:
        """No two plugins of one interface have the same name."""
        counts = Counter((one.provides, one.name) for one in BUILT_IN)
        self.assertEqual([key for key, count in counts.items() if count > 1], [])

    def test_installed(self) -> None:
        """The lookup finds all built-in plugins, and those of an interface only under that interface."""
        for interface in (IRetentionPolicy, IPartitioner, IAssignor, ILogStore):
            names = {one.name for one in BUILT_IN if one.provides is interface}
            found = {one.name for one in extensions(interface)}
            self.assertEqual(names - found, set())
        self.assertNotIn("file", [one.name for one in extensions(IPartitioner)])

    def test_described(self) -> None:
        """Each plugin says in one sentence what it does."""
        for one in BUILT_IN:
            self.assertRegex(one.doc, r"\A\S[^\n]*\.\Z", one.name)
