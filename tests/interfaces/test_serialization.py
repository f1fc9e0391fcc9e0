"""Encoders, decoders and partitioners that come with kafkatx provide their interfaces."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase
from zope.interface.verify import verifyObject

from kafkatx.decoders.access_log import AccessLogDecoder
from kafkatx.decoders.avro import AvroDecoder
from kafkatx.encoders import BytesEncoder, JsonEncoder, StringEncoder
from kafkatx.interfaces import IConfigurable, IDecoder, IEncoder, IPartitioner, IRowDecoder
from kafkatx.partitioners import DefaultPartitioner, HashPartitioner, RandomPartitioner, RoundRobinPartitioner

ENCODERS = (BytesEncoder, JsonEncoder, StringEncoder)
PARTITIONERS = (DefaultPartitioner, HashPartitioner, RandomPartitioner, RoundRobinPartitioner)


class SerializationTests(SynchronousTestCase):
    def test_encoders(self) -> None:
        """An encoder decodes as well, and None stays None both ways."""
        for made in (one() for one in ENCODERS):
            for interface in (IEncoder, IDecoder):
                self.assertTrue(verifyObject(interface, made, tentative=True))
            self.assertEqual((made.encode("t", None), made.decode("t", None)), (None, None))

    def test_partitioners(self) -> None:
        """A partition is one of the topic's, with a key and without."""
        for made in (one() for one in PARTITIONERS):
            self.assertTrue(verifyObject(IPartitioner, made, tentative=True))
            for key in (b"key", None):
                self.assertIn(made.partition("t", key, 3), range(3))

    def test_row_decoders(self) -> None:
        """The decoder of access logs has columns, one of which is the time; None is no row."""
        made = AccessLogDecoder()
        self.assertTrue(verifyObject(IRowDecoder, made, tentative=True))
        self.assertIn((made.time_column, "timestamp"), [tuple(column) for column in made.columns])
        self.assertIsNone(made.decode("t", None))

    def test_configurable(self) -> None:
        """The decoder of Avro has settings of its own."""
        self.assertTrue(IConfigurable.implementedBy(AvroDecoder))
