"""The stores, logs, results and policies that come with kafkatx provide the storage interfaces."""

from __future__ import annotations

import re

from twisted.trial.unittest import SynchronousTestCase
from zope.interface import Interface
from zope.interface.interface import InterfaceClass
from zope.interface.verify import verifyClass, verifyObject

from kafkatx import interfaces
from kafkatx.interfaces import (
    ILogStore,
    INeedsValidation,
    IPartitionLog,
    IRetentionPolicy,
    client,
    metadata,
    mirror,
    serialization,
    storage,
    tree,
)
from kafkatx.interfaces.security import authorizer
from kafkatx.interfaces.storage import NEEDS_VALIDATION
from kafkatx.log.append.content import ValidationRequired
from kafkatx.log.batch_log import BatchLog
from kafkatx.log.memory import MemoryLogStore
from kafkatx.log.partition.file_log import FileLog
from kafkatx.log.retention import KeepAll, SizeRetention, TimeAndSizeRetention, TimeRetention
from kafkatx.log.store.file_store import FileLogStore


def every_interface() -> list[InterfaceClass]:
    """Return all interfaces that the package exports."""
    return [
        one for one in vars(interfaces).values() if isinstance(one, InterfaceClass) and one is not Interface
    ]


class StorageTests(SynchronousTestCase):
    def test_stores(self) -> None:
        """Both stores have the methods of a store, with their arguments."""
        for store in (FileLogStore, MemoryLogStore):
            self.assertTrue(verifyClass(ILogStore, store))

    def test_logs(self) -> None:
        """Both kinds of log say that they are logs; the contracts check their methods."""
        for log in (FileLog, BatchLog):
            self.assertTrue(IPartitionLog.implementedBy(log))

    def test_needs_validation(self) -> None:
        """The result that asks for validation has the function and its error."""
        result = ValidationRequired(lambda: self.fail("not called"))
        self.assertTrue(verifyObject(INeedsValidation, result))
        self.assertEqual(result.error, NEEDS_VALIDATION)

    def test_policies(self) -> None:
        """Each policy provides the interface, and deletes nothing of a log without segments."""
        for policy in (KeepAll, SizeRetention, TimeAndSizeRetention, TimeRetention):
            self.assertTrue(verifyClass(IRetentionPolicy, policy))


class DocumentedTests(SynchronousTestCase):
    def test_docstrings(self) -> None:
        """Each interface, and each of its methods and attributes, is described."""
        for interface in every_interface():
            self.assertTrue(interface.__doc__, interface.__name__)
            for name, one in interface.namesAndDescriptions():
                self.assertTrue(one.__doc__, f"{interface.__name__}.{name}")

    def test_exported(self) -> None:
        """Every interface of the package's modules is exported; those of logins need twisted.cred."""
        modules = (authorizer, client, metadata, mirror, serialization, storage, tree)
        names = {name for module in modules for name in vars(module) if re.match("I[A-Z][a-z]", name)}
        self.assertEqual(names - {"Interface"}, {one.__name__ for one in every_interface()})
