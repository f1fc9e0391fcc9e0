"""Files that need no reference."""

from __future__ import annotations

from unittest.mock import Mock

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.schemas.protobuf import well_known as module
from kafkatx.schemas.protobuf.well_known import _OF_LIBRARIES, _TEXTS, well_known_file
from kafkatx.schemas.types import InvalidSchema
from tests.schemas.protobuf.documents import parsed
from tests.schemas.protobuf.samples import CUSTOM


class WellKnownTests(SynchronousTestCase):
    def test_all(self) -> None:
        """Each file can be imported, and has the path by which it is."""
        files = [f"{folder}/{name}.proto" for folder, names in _OF_LIBRARIES.items() for name in names]
        self.assertEqual(len(files), 11 + 16)
        for path in (*_TEXTS, *files):
            found = well_known_file(path)
            assert found is not None
            self.assertEqual(found.name, path)
            parsed(f'syntax = "proto3"; import "{path}";')

    def test_others(self) -> None:
        """Other paths are unknown, also those that lead to other modules of Python."""
        for path in (
            "any.proto",
            "google/protobuf/internal/api.proto",
            "google/protobuf/../os.proto",
            "",
            "google/rpc/status.proto",
        ):
            self.assertIsNone(well_known_file(path))

    def test_missing_library(self) -> None:
        """A file of a library that is not installed is an error that says what to install."""
        self.patch(module, "importlib", Mock(**{"import_module.side_effect": ModuleNotFoundError}))
        error = self.assertRaises(InvalidSchema, well_known_file, "google/type/money.proto")
        self.assertIn("kafkatx[schemas]", str(error))

    def test_options(self) -> None:
        """The options of Confluent's metadata are read with their import."""
        (message,) = parsed(CUSTOM).file.message_type
        self.assertEqual(len(message.field[0].options.uninterpreted_option), 4)
