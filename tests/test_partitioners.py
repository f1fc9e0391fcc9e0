"""Tests of kafkatx.partitioners."""

from __future__ import annotations

import random
import subprocess
import sys

from hypothesis import given, settings
from hypothesis import strategies as st
from kafka.partitioner.default import murmur2 as kafka_python_murmur2
from twisted.trial.unittest import SynchronousTestCase
from zope.interface import classImplements
from zope.interface.verify import verifyObject

from kafkatx.interfaces import IPartitioner
from kafkatx.partitioners import (
    DefaultPartitioner,
    HashPartitioner,
    RandomPartitioner,
    RoundRobinPartitioner,
    java_hash,
    murmur2,
)
from kafkatx.testing.contracts.producer import PartitionerContract

ALL = (DefaultPartitioner, RandomPartitioner, RoundRobinPartitioner, HashPartitioner)


class InOrder:
    """A source of 'random' numbers that gives 0, 1, 2 ..."""

    def __init__(self) -> None:
        self.calls = -1

    def randrange(self, stop: int, /) -> int:
        """The next number."""
        self.calls += 1
        return self.calls % stop


class Murmur2Tests(SynchronousTestCase):
    """The hash that decides where keys go."""

    def test_known(self) -> None:
        """The vectors of Apache Kafka's own UtilsTest."""
        known = {b"21": -973932308, b"foobar": -790332482, b"a-little-bit-long-string": -985981536}
        known |= {b"a-little-bit-longer-string": -1486304829, b"abc": 479470107}
        known |= {b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971}
        for data, expected in known.items():
            self.assertEqual(murmur2(data), expected & 0xFFFFFFFF)

    @settings(deadline=None, max_examples=200)
    @given(st.binary(max_size=40))
    def test_as_kafka_python(self, data: bytes) -> None:
        """kafka-python's hash is the same."""
        self.assertEqual(murmur2(data), kafka_python_murmur2(data))


class ContractTests(SynchronousTestCase):
    """The contract of all partitioners."""

    def test_interface(self) -> None:
        """Each provides IPartitioner."""
        classImplements(DefaultPartitioner, IPartitioner)
        classImplements(RandomPartitioner, IPartitioner)
        classImplements(RoundRobinPartitioner, IPartitioner)
        classImplements(HashPartitioner, IPartitioner)
        for made in ALL:
            self.assertTrue(verifyObject(IPartitioner, made()))

    def test_range(self) -> None:
        """Each gives a partition that exists, also after their number has shrunk."""
        for made in ALL:
            partitioner = made()
            for partitions in (7, 3, 1):
                for key in (None, b"", b"key"):
                    self.assertIn(partitioner.partition("t", key, partitions), range(partitions))
                partitioner.batch_sent("t")

    def test_no_twisted(self) -> None:
        """The module can be imported without Twisted."""
        code = "import sys, kafkatx.partitioners; sys.exit('twisted' in sys.modules)"
        self.assertEqual(
            subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": ":".join(sys.path)}).returncode, 0
        )


class DefaultPartitionerTests(SynchronousTestCase):
    """Keys by hash, no keys in batches."""

    def test_key(self) -> None:
        """A key's partition is the hash without its sign bit, modulo their number, as in Java."""
        partitioner = DefaultPartitioner(InOrder())
        self.assertEqual(partitioner.partition("t", b"foobar", 1000), (-790332482 & 0x7FFFFFFF) % 1000)
        self.assertEqual(partitioner.partition("t", b"", 1000), murmur2(b"") % 2**31 % 1000)

    def test_sticky(self) -> None:
        """Without key a partition is kept until a batch was sent; topics do not mix."""
        partitioner = DefaultPartitioner(InOrder())
        self.assertEqual([partitioner.partition("t", None, 5) for _ in range(3)], [0, 0, 0])
        self.assertEqual(partitioner.partition("u", None, 5), 1)
        partitioner.batch_sent("t")
        self.assertEqual(partitioner.partition("t", None, 5), 2)
        self.assertEqual(partitioner.partition("u", None, 5), 1)

    def test_unknown_topic_sent(self) -> None:
        """A batch of a topic with keys only changes nothing."""
        DefaultPartitioner().batch_sent("never asked")


class RandomPartitionerTests(SynchronousTestCase):
    """By chance."""

    def test_source(self) -> None:
        """Each record is a new choice of the source, with a key or without."""
        partitioner = RandomPartitioner(InOrder())
        self.assertEqual(
            [partitioner.partition("t", key, 3) for key in (None, b"k", b"k", b"k")], [0, 1, 2, 0]
        )

    def test_even(self) -> None:
        """With Python's own source every partition is met."""
        partitioner = RandomPartitioner(random.Random(1))
        self.assertEqual({partitioner.partition("t", None, 4) for _ in range(100)}, {0, 1, 2, 3})


class RoundRobinPartitionerTests(SynchronousTestCase):
    """In turn."""

    def test_turns(self) -> None:
        """Partitions come in turn, each topic with its own."""
        partitioner = RoundRobinPartitioner()
        self.assertEqual([partitioner.partition("t", b"k", 3) for _ in range(4)], [0, 1, 2, 0])
        self.assertEqual(partitioner.partition("u", None, 3), 0)


class JavaHashTests(SynchronousTestCase):
    """String.hashCode(), by which Kafka 0.7 chose partitions."""

    def test_known(self) -> None:
        """The hashes are the absolute values of Java's."""
        known = {"": 0, "a": 97, "hello": 99162322, "kafka": 101807910, "polygenelubricants": 0, "ü": 252}
        known |= {"hello world": 1794106052, "\U0001f600": 1772899}
        for text, value in known.items():
            self.assertEqual(java_hash(text), value, text)

    def test_partition(self) -> None:
        """The partition is the hash modulo their number; by chance without a key."""
        partitioner = HashPartitioner(InOrder())
        self.assertEqual(partitioner.partition("t", b"hello", 7), 99162322 % 7)
        self.assertEqual([partitioner.partition("t", None, 3) for _ in range(4)], [0, 1, 2, 0])


class DefaultContractTests(PartitionerContract, SynchronousTestCase):
    make_partitioner = DefaultPartitioner


class RandomContractTests(PartitionerContract, SynchronousTestCase):
    make_partitioner = RandomPartitioner
    by_key = False


class RoundRobinContractTests(PartitionerContract, SynchronousTestCase):
    make_partitioner = RoundRobinPartitioner
    by_key = False


class HashContractTests(PartitionerContract, SynchronousTestCase):
    make_partitioner = HashPartitioner
