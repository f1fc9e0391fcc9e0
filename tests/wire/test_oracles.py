"""Our bytes against those of independent implementations: kio, and kafka-python for the oldest versions.

kio's messages name durations without their unit and have rich types in them; :func:`to_kio` makes one of
ours into one of theirs, field by field, so that a wrong name or order is found as well as a wrong byte.
"""

from __future__ import annotations

import dataclasses
import datetime
import importlib
import io
import re
import typing
from typing import Any

from hypothesis import assume
from twisted.trial.unittest import SkipTest, SynchronousTestCase

from kafkatx.wire.api import APIS
from kafkatx.wire.codec import decode, encode
from kafkatx.wire.schema import NULL_UUID, Message, Struct
from tests.wire.strategies import VERSIONS, for_every_version

try:
    from kio.schema.errors import ErrorCode
    from kio.serial import entity_reader, entity_writer
    from kio.static.primitive import i32Timedelta, i64Timedelta
except ImportError:  # kio needs Python 3.11
    entity_reader = None

OLDEST = {
    "Produce": (0, 1, 2),
    "Fetch": (0, 1, 2, 3),
    "ListOffsets": (0,),
    "CreateTopics": (0, 1),
    "DeleteTopics": (0,),
    "OffsetForLeaderEpoch": (0, 1),
    "DescribeConfigs": (0,),
    "OffsetCommit": (0, 1),
    "OffsetFetch": (0,),
    "DescribeAcls": (0,),
    "CreateAcls": (0,),
    "DeleteAcls": (0,),
}
"""The versions that kio does not have."""

OLD_MODULES = {
    "Produce": "produce",
    "Fetch": "fetch",
    "ListOffsets": "list_offsets",
    "CreateTopics": "admin",
    "DeleteTopics": "admin",
    "OffsetForLeaderEpoch": "offset_for_leader_epoch",
    "DescribeConfigs": "admin",
    "OffsetCommit": "commit",
    "OffsetFetch": "commit",
    "DescribeAcls": "admin",
    "CreateAcls": "admin",
    "DeleteAcls": "admin",
}
"""Where kafka-python's classes of those stand, in ``kafka.protocol.old``."""

SAME = {("DescribeLogDirs", 0): 1, ("AlterReplicaLogDirs", 0): 1}
"""Versions that neither has (kafka-python's is wrong), and the one of kio's with the same bytes."""


KIO_MOST_MS = 10**12
"""kio has a duration as a float of seconds, which is not exact for long ones."""


def api_name(cls: type[Message]) -> str:
    """``ProduceRequest`` -> ``Produce``."""
    return re.sub("(Request|Response)$", "", cls.__name__)


def kio_class(cls: type[Message], version: int) -> Any:
    """kio's class of one version."""
    folder = re.sub("(?<=[a-z])(?=[A-Z])", "_", api_name(cls)).lower()
    side = "request" if cls.__name__.endswith("Request") else "response"
    return getattr(importlib.import_module(f"kio.schema.{folder}.v{version}.{side}"), cls.__name__)


def to_kio(ours: Struct, theirs: Any) -> Any:
    """One of our structs as one of kio's."""
    hints = typing.get_type_hints(theirs)
    values = {}
    for f in dataclasses.fields(theirs):
        value = getattr(ours, f.name if hasattr(ours, f.name) else f.name + "_ms")
        if value is not None or "tag" not in f.metadata:  # what is not sent has their default
            values[f.name] = kio_value(value, f.metadata.get("kafka_type"), hints[f.name])
    return theirs(**values)


def kio_value(value: Any, kind: str | None, hint: Any) -> Any:
    """One value as kio has it."""
    if kind == "timedelta_i32":
        return i32Timedelta.parse(datetime.timedelta(milliseconds=value))
    if kind == "timedelta_i64":
        assume(abs(value) <= KIO_MOST_MS)
        return i64Timedelta.parse(datetime.timedelta(milliseconds=value))
    if kind == "datetime_i64":
        epoch = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
        return None if value == -1 else epoch + datetime.timedelta(milliseconds=value)
    if kind == "error_code":
        return ErrorCode(value)
    if kind == "uuid":
        return None if value == NULL_UUID else value
    if isinstance(value, list):
        return tuple(to_kio(v, struct_in(hint)) if isinstance(v, Struct) else v for v in value)
    return to_kio(value, struct_in(hint)) if isinstance(value, Struct) else value


def struct_in(hint: Any) -> Any:
    """The dataclass inside ``X``, ``tuple[X, ...]`` or ``tuple[X, ...] | None``."""
    if dataclasses.is_dataclass(hint):
        return hint
    return next(found for arg in typing.get_args(hint) if (found := struct_in(arg)) is not None)


def to_tuples(value: Any, version: int) -> Any:
    """A struct as the values of its fields in order, as kafka-python's old schemas take it."""
    if isinstance(value, list):
        return [to_tuples(item, version) for item in value]
    if isinstance(value, Struct):
        standing = [f.name for f in value.FIELDS if f.exists_in(version)]
        return tuple(to_tuples(getattr(value, name), version) for name in standing)
    return value


class KioTests(SynchronousTestCase):
    """Byte for byte with kio."""

    def test_every_version(self) -> None:
        """kio writes the bytes that we write, reads ours as what they are, and we read its bytes."""
        if entity_reader is None:
            raise SkipTest("kio is not installed")

        def check(cls: type[Message], version: int, message: Message) -> None:
            if version in OLDEST.get(api_name(cls), ()) or not APIS[cls.API_KEY].listed:
                return
            theirs = kio_class(cls, SAME.get((api_name(cls), version), version))
            expected, written = to_kio(message, theirs), io.BytesIO()
            entity_writer(theirs)(written, expected)
            data = encode(message, version)
            self.assertEqual(data, written.getvalue())
            self.assertEqual(entity_reader(theirs)(data, 0), (expected, len(data)))
            self.assertEqual(decode(cls, version, written.getvalue()), message)

        for_every_version(check)


class KafkaPythonTests(SynchronousTestCase):
    """Byte for byte with kafka-python, in the versions that kio lacks."""

    def test_oldest_versions(self) -> None:
        """kafka-python writes the bytes that we write, and has the same names at the top level."""
        checked = set()

        def check(cls: type[Message], version: int, message: Message) -> None:
            if version not in OLDEST.get(api_name(cls), ()):
                return
            module = importlib.import_module(f"kafka.protocol.old.{OLD_MODULES[api_name(cls)]}")
            schema = getattr(module, f"{cls.__name__}_v{version}").SCHEMA
            data = encode(message, version)
            self.assertEqual(data, schema.encode(to_tuples(message, version)))
            self.assertEqual(schema.decode(io.BytesIO(data)), to_tuples(message, version))
            checked.add((cls, version))

        for_every_version(check)
        self.assertEqual(len(checked), 2 * sum(map(len, OLDEST.values())))
        self.assertEqual(len(VERSIONS), 530)
