"""The recorder."""

from __future__ import annotations

from collections.abc import Mapping
from math import isnan
from typing import Any
from unittest.mock import Mock

from twisted.internet.defer import Deferred, succeed
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.history.history import History, plan_window
from kafkatx.broker.history.samples import Samples
from kafkatx.broker.sampling.recorder import WRITE_S, Recorder
from tests.broker.history.test_codec import NOW_MS, filled


class RecorderTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a recorder whose samples are those of the test."""
        self.clock = Clock()
        self.sampled: list[Deferred[None]] = []
        self.held = False
        self.sampler: Any = Mock(sample=self.sample, named=lambda: {"lag:g": 5.0})
        self.file: Any = Mock()
        self.file.read.return_value = succeed(History())
        self.file.write.return_value = succeed(None)
        self.began_ms = NOW_MS
        self.samples = Samples()
        self.recorder = Recorder(self.samples, self.sampler, self.file, self.clock, self.now_ms)

    def now_ms(self) -> int:
        """Return the wall clock."""
        return self.began_ms + round(self.clock.seconds() * 1000)

    async def sample(self) -> Mapping[str, float]:
        """Sample."""
        waiting: Deferred[None] = Deferred()
        self.sampled.append(waiting)
        if not self.held:
            waiting.callback(None)
        await waiting
        return {"connections": float(len(self.sampled))}

    def read(self, name: str, from_s: int, to_s: int) -> list[float | None]:
        """Return the samples of some seconds; None where there is none."""
        window = plan_window([name], NOW_MS + 1000 * from_s, NOW_MS + 1000 * to_s, 200, self.now_ms())
        return [None if isnan(value) else value for value in self.samples.history.read(name, window)]

    def start(self) -> None:
        """Start the recorder."""
        self.successResultOf(Deferred.fromCoroutine(self.recorder.start()))

    def stop(self) -> Deferred[None]:
        """Stop the recorder."""
        return Deferred.fromCoroutine(self.recorder.stop())

    def test_samples(self) -> None:
        """While there are looks each second has a sample; topics and groups have one each ten seconds."""
        self.samples.look(self.clock.seconds())
        self.start()
        for _ in range(25):
            self.clock.advance(1)
        self.assertEqual(self.read("connections", 0, 24), [float(number) for number in range(1, 26)])
        self.assertEqual(self.read("lag:g", 0, 19), [5.0, 5.0])

    def test_unseen(self) -> None:
        """A minute after the last look there is a sample each ten seconds, which counts for all of them."""
        self.samples.look(self.clock.seconds())
        self.start()
        for _ in range(60):
            self.clock.advance(1)
        self.assertEqual(len(self.sampled), 61)
        for _ in range(60):
            self.clock.advance(1)
        self.assertEqual(len(self.sampled), 67)
        ten = [float(number) for number in range(62, 68) for _ in range(10)]
        self.assertEqual(self.read("connections", 60, 120), [61.0, *ten])

    def test_first(self) -> None:
        """The first sample after a start counts for its second alone: the broker was away before."""
        self.file.read.return_value = succeed(filled(600))
        self.began_ms = NOW_MS + 605_000
        self.start()
        self.assertEqual(self.read("connections", 599, 605), [599.0, None, None, None, None, None, 1.0])

    def test_slow(self) -> None:
        """A sample that takes long is waited for: there is one at a time."""
        self.samples.look(self.clock.seconds())
        self.held = True
        self.start()
        self.clock.advance(3)
        self.assertEqual(len(self.sampled), 1)
        self.held = False
        self.sampled[0].callback(None)
        self.clock.advance(1)
        self.assertEqual(len(self.sampled), 2)

    def test_file(self) -> None:
        """The file is written at intervals, and at the end; nothing goes on then."""
        self.start()
        self.clock.pump([1] * (round(WRITE_S) + 1))
        self.file.write.assert_called_once_with(self.samples.history)
        self.successResultOf(self.stop())
        self.assertEqual(self.file.write.call_count, 2)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_restart(self) -> None:
        """The samples of before are there; those that are later than now are not: the clock was set back."""
        self.file.read.return_value = succeed(filled(600))
        self.began_ms = NOW_MS + 100_000
        self.start()
        self.assertEqual(self.read("connections", 99, 200), [99.0, 1.0])

    def test_not_started(self) -> None:
        """One that was not started has nothing to write."""
        self.successResultOf(self.stop())
        self.file.write.assert_not_called()

    def test_without_file(self) -> None:
        """A broker in memory keeps its samples in memory."""
        samples = Samples()
        recorder = Recorder(samples, self.sampler, None, self.clock, self.now_ms)
        self.successResultOf(Deferred.fromCoroutine(recorder.start()))
        self.clock.advance(1)
        self.successResultOf(Deferred.fromCoroutine(recorder.stop()))
        self.assertEqual(len(samples.history.latest), 1)
