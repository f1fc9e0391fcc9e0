"""Files that need no reference."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.schemas.protobuf.well_known import _OF_THE_LIBRARY, _TEXTS, well_known_file
from tests.schemas.protobuf.documents import parsed
from tests.schemas.protobuf.samples import CUSTOM


class WellKnownTests(SynchronousTestCase):
    def test_all(self) -> None:
        """Each file can be imported, and has the path by which it is."""
        for path in (*_TEXTS, *(f"google/protobuf/{name}.proto" for name in _OF_THE_LIBRARY)):
            found = well_known_file(path)
            assert found is not None
            self.assertEqual(found.name, path)
            parsed(f'syntax = "proto3"; import "{path}";')

    def test_others(self) -> None:
        """Other paths are unknown, also those that lead to other modules of Python."""
        for path in ("any.proto", "google/protobuf/internal/api.proto", "google/protobuf/../os.proto", ""):
            self.assertIsNone(well_known_file(path))

    def test_options(self) -> None:
        """The options of Confluent's metadata are read with their import."""
        (message,) = parsed(CUSTOM).file.message_type
        self.assertEqual(len(message.field[0].options.uninterpreted_option), 4)
