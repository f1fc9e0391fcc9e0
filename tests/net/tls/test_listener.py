"""Certificates of a listener: changed files, and their end."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from twisted.internet.defer import Deferred, execute
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.config import BrokerConfig
from kafkatx.net.tls.listener import Certificates, TlsListeners
from kafkatx.tls.authority import Issued, issue, make_authority

T = TypeVar("T")
AUTHORITY = make_authority("tests")


def at_once(function: Callable[[], T]) -> Deferred[T]:
    """Run a worker's function at once."""
    return execute(function)


class CertificatesTests(SynchronousTestCase):
    def setUp(self) -> None:
        """A listener with a keystore."""
        self.path = self.mktemp()
        self.write(self.issue())
        config = BrokerConfig.load(None, {"ssl.keystore.location": self.path})
        self.now_s = AUTHORITY.certificate.not_valid_before_utc.timestamp()
        self.certificates = Certificates("SSL", lambda: config.of_listener("SSL"), lambda: self.now_s)

    def issue(self) -> Issued:
        """Return a new certificate."""
        return issue(AUTHORITY, "broker", ("localhost",))

    def write(self, issued: Issued) -> None:
        """Write it to the listener's keystore."""
        with open(self.path, "wb") as file:
            file.write(issued.keystore_pem() + b"\n" * len(str(issued.certificate.serial_number)))

    def serial(self) -> int:
        """Return the serial number of the certificate in use."""
        assert self.certificates.settings.identity is not None
        return self.certificates.settings.identity.certificate.serial_number

    def test_changed_file(self) -> None:
        """A changed file is taken over; one that has not changed is not read."""
        before = self.certificates.settings
        self.successResultOf(self.certificates.check_files(at_once))
        self.assertIs(self.certificates.settings, before)
        new = self.issue()
        self.write(new)
        with open(self.path, "ab") as file:
            file.write(b"\n")
        self.successResultOf(self.certificates.check_files(at_once))
        self.assertEqual(self.serial(), new.certificate.serial_number)

    def test_ends(self) -> None:
        """The listeners tell when their certificates expire, for metrics."""
        config = BrokerConfig.load(None, {})
        listeners = TlsListeners(config.of_listener, at_once)
        listeners._certificates.append(self.certificates)
        identity = self.certificates.settings.identity
        assert identity is not None
        end_s = min(one.not_valid_after_utc.timestamp() for one in identity.chain)
        self.assertEqual(listeners.ends(), [("SSL", end_s)])

    def test_bad_file(self) -> None:
        """A file that cannot be used changes nothing; the next one that can does."""
        before = self.serial()
        with open(self.path, "wb") as file:
            file.write(b"half of a cert")
        self.successResultOf(self.certificates.check_files(at_once))
        self.assertEqual(self.serial(), before)
        new = self.issue()
        self.write(new)
        self.successResultOf(self.certificates.check_files(at_once))
        self.assertEqual(self.serial(), new.certificate.serial_number)
