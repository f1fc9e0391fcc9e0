"""The rate of one client: samples, windows, and the throttle time."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.net.admission.rates import Rate, Window

WINDOW = Window(samples=11, sample_ms=1000)
START_MS = 5_000_000


class RateTests(SynchronousTestCase):
    """The default window: ten full samples of a second, and the current one."""

    def setUp(self) -> None:
        """Make a rate without bytes."""
        self.rate = Rate(WINDOW)

    def throttle(self, limit: float, at_ms: int) -> int:
        """Return the throttle time at *at_ms* after the start."""
        return self.rate.throttle_time_ms(limit, START_MS + at_ms)

    def test_nothing(self) -> None:
        """A client without bytes is not throttled, however low the limit."""
        self.assertEqual(self.throttle(0.001, 0), 0)

    def test_burst(self) -> None:
        """The bytes of ten seconds may come at once; one more is throttled."""
        self.rate.add(10_000, START_MS)
        self.assertEqual(self.throttle(1000, 0), 0)
        self.rate.add(1000, START_MS)
        self.assertEqual(self.throttle(1000, 0), 1000)

    def test_throttle_time(self) -> None:
        """The rate equals the limit after the throttle time: (O - T) / T * W."""
        self.rate.add(30_000, START_MS)
        # 30,000 bytes in 10.5 s: the half second and the ten seconds before it without bytes
        self.assertEqual(self.throttle(1000, 500), 19_500)

    def test_pause_is_not_cut(self) -> None:
        """One large request is throttled for its whole time, as in Kafka, not only for a window."""
        self.rate.add(100_000, START_MS)
        self.assertEqual(self.throttle(1000, 0), 90_000)

    def test_pause_fits_its_field(self) -> None:
        """The throttle time is at most the maximum of 32 bits."""
        self.rate.add(1 << 40, START_MS)
        self.assertEqual(self.throttle(1, 0), 2**31 - 1)

    def test_bytes_count_for_a_window(self) -> None:
        """Bytes count until a window after the last byte of their sample, then expire."""
        self.rate.add(1, START_MS)
        self.rate.add(2, START_MS + 900)
        self.rate.add(4, START_MS + 1000)
        self.assertEqual(self.rate.total(START_MS + 11_899), 7)
        self.assertEqual(self.rate.total(START_MS + 11_900), 4)
        self.assertEqual(self.rate.total(START_MS + 12_000), 0)

    def test_steady(self) -> None:
        """A client below the limit is never throttled; one at twice the limit is slowed down to it."""
        for second in range(60):
            self.rate.add(900, START_MS + second * 1000)
            self.assertEqual(self.throttle(1000, second * 1000), 0, second)
        now_ms, sent = 100_000, 0
        while now_ms < 400_000:
            self.rate.add(2000, START_MS + now_ms)
            sent += 2000
            now_ms += 1000 + self.throttle(1000, now_ms)
        self.assertTrue(900 <= sent / 300 <= 1010, sent)

    def test_elapsed_is_from_the_oldest_sample(self) -> None:
        """The rate is over the time since the oldest sample began, up to the window and a part."""
        for second in range(11):
            self.rate.add(1100, START_MS + second * 1000)
        # 12,100 bytes in 10.9 s: 1110 a second
        self.assertEqual(self.throttle(1000, 10_900), 1200)

    def test_oldest_sample_may_be_older_than_the_window(self) -> None:
        """Bytes at the end of the oldest sample still count, over the time since the sample began."""
        self.rate.add(1, START_MS)
        self.rate.add(23_999, START_MS + 999)
        # 24,000 bytes in 11.9 s
        self.assertEqual(self.throttle(1000, 11_900), 12_100)

    def test_taken_back(self) -> None:
        """Bytes that are taken back do not count."""
        self.rate.add(10_000, START_MS)
        self.rate.add(5000, START_MS)
        self.rate.add(-5000, START_MS)
        self.assertEqual((self.rate.total(START_MS), self.throttle(1000, 0)), (10_000, 0))

    def test_clock_goes_back(self) -> None:
        """Bytes from before the clock was set back do not count for hours."""
        self.rate.add(10_000, START_MS)
        self.rate.add(7, START_MS - 3_600_000)
        self.assertEqual(self.rate.total(START_MS - 3_600_000), 7)
        self.assertEqual(self.throttle(1000, -3_600_000), 0)

    def test_one_sample(self) -> None:
        """The window with quota.window.num=1 is the elapsed part of its sample, and is never empty."""
        self.rate = Rate(Window(samples=1, sample_ms=1000))
        self.rate.add(10, START_MS)
        self.assertEqual(self.throttle(1000, 0), 9)
        self.assertEqual(self.throttle(1000, 10), 0)


class WindowTests(SynchronousTestCase):
    def test_largest(self) -> None:
        """The largest burst is what the full samples allow, or the single sample if there is one."""
        self.assertEqual(WINDOW.largest(1000), 10_000)
        self.assertEqual(Window(samples=1, sample_ms=2000).largest(1000), 2000)
        self.assertEqual(Window(samples=3, sample_ms=500).largest(1000), 1000)
