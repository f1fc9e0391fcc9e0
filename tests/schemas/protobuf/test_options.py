"""Options: those of Protobuf are set, others kept."""

from __future__ import annotations

from google.protobuf import descriptor_pb2 as pb
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.schemas.protobuf.options import read_option
from kafkatx.schemas.protobuf.reader import Reader
from kafkatx.schemas.types import InvalidSchema


def file_options(text: str) -> pb.FileOptions:
    """Return the options of a file with one of this text."""
    options = pb.FileOptions()
    read_option(Reader(text), options)
    return options


class OptionsTests(SynchronousTestCase):
    def test_known(self) -> None:
        """Texts, flags, enums and features are set."""
        self.assertEqual(file_options("java_package = 'a' 'b'").java_package, "ab")
        self.assertTrue(file_options("deprecated = true").deprecated)
        self.assertEqual(file_options("optimize_for = CODE_SIZE").optimize_for, pb.FileOptions.CODE_SIZE)
        features = file_options("features.field_presence = IMPLICIT").features
        self.assertEqual(features.field_presence, pb.FeatureSet.IMPLICIT)

    def test_wrong(self) -> None:
        """A known option with a value of another type is refused."""
        for text in (
            "deprecated = 1",
            "deprecated = yes",
            "optimize_for = FAST",
            "java_package = 1",
            "deprecated = -true",
        ):
            self.assertRaises(InvalidSchema, file_options, text)

    def test_others(self) -> None:
        """Other options keep their names and values."""
        for text, field, value in [
            ("(a.b).c = 1", "positive_int_value", 1),
            ("(a) = -1", "negative_int_value", -1),
            ("(a) = 0.5", "double_value", 0.5),
            ("(a) = -inf", "double_value", float("-inf")),
            ("(a) = NAME", "identifier_value", "NAME"),
            ("(a) = 'x' \"y\"", "string_value", b"xy"),
            ("unknown = { a: { b: 1 } c: [1, 2] }", "aggregate_value", "a : { b : 1 } c : [ 1 , 2 ]"),
            ("(a) = 99999999999999999999", "double_value", 1e20),
        ]:
            (option,) = file_options(text).uninterpreted_option
            self.assertEqual(getattr(option, field), value)
        (option,) = file_options("(.a.b).c.(d) = 1").uninterpreted_option
        self.assertEqual(
            [(one.name_part, one.is_extension) for one in option.name],
            [(".a.b", True), ("c", False), ("d", True)],
        )
