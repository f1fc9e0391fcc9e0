"""Tests of the settings of a connection to ZooKeeper, and of the files that a broker's settings name."""

from __future__ import annotations

import importlib.util
import ssl

from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, pkcs12
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.clientcore.settings import ClientSettings
from kafkatx.config import BrokerConfig
from kafkatx.errors import SettingError
from kafkatx.metadata.tree.zookeeper import ZooKeeperSettings
from kafkatx.metadata.tree.zookeeper.jaas import MODULE
from kafkatx.tls.authority import issue, make_authority
from tests.integration.certificates import self_signed


def read(**settings: str) -> ZooKeeperSettings:
    """Return the settings of a broker; names have _ for a dot."""
    named = {name.replace("_", "."): value for name, value in settings.items()}
    return ZooKeeperSettings.of(BrokerConfig.load(None, {"zookeeper.connect": "a:1/x", **named}))


class SettingsTests(SynchronousTestCase):
    def test_chroot(self) -> None:
        """Servers and chroot are told apart; a slash alone is no chroot."""
        for connect, hosts, chroot in (
            ("a:1,b:2/kafka/x", "a:1,b:2", "/kafka/x"),
            ("[::1]:2181/", "[::1]:2181", ""),
            ("a", "a", ""),
        ):
            settings = ZooKeeperSettings(connect)
            self.assertEqual((settings.hosts, settings.chroot), (hosts, chroot))

    def test_time_outs(self) -> None:
        """Seconds; the time to connect is that of sessions if it is not set."""
        self.assertEqual(read(), ZooKeeperSettings("a:1/x", 18.0, 18.0))
        settings = read(zookeeper_session_timeout_ms="6000", zookeeper_set_acl="false")
        self.assertEqual((settings.session_timeout_s, settings.connection_timeout_s), (6.0, 6.0))
        settings = read(zookeeper_session_timeout_ms="6000", zookeeper_connection_timeout_ms="500")
        self.assertEqual((settings.session_timeout_s, settings.connection_timeout_s), (6.0, 0.5))

    def test_client(self) -> None:
        """The settings of a client have a broker's names; it makes no chroot."""
        values = {"zk.connect": "a:1/x", "zk.sessiontimeout.ms": 6000, "zookeeper.ssl.client.enable": True}
        settings = ZooKeeperSettings.of_client(ClientSettings.load("producer", values))
        self.assertEqual((settings.connect, settings.session_timeout_s), ("a:1/x", 6.0))
        self.assertIsInstance(settings.tls, ssl.SSLContext)
        self.assertEqual((settings.set_acl, settings.make_chroot), (False, False))
        self.assertTrue(read().make_chroot)

    def test_secrets_are_not_shown(self) -> None:
        """No password gets into a log with the settings."""
        self.assertNotIn("secret", repr(ZooKeeperSettings("a", credentials=("u", "secret"))))


class CredentialsTests(SynchronousTestCase):
    def test_named(self) -> None:
        """User name and password are those that are set, before those of a JAAS file."""
        settings = read(
            kafkatx_zookeeper_username="u",
            kafkatx_zookeeper_password=" p ",
            kafkatx_zookeeper_jaas_file="/no/such/file",
            zookeeper_set_acl="true",
        )
        self.assertEqual((settings.credentials, settings.set_acl), (("u", " p "), True))

    def test_file(self) -> None:
        """A JAAS file gives them; one that cannot be used is named."""
        path = self.mktemp()
        missing = self.assertRaises(SettingError, read, kafkatx_zookeeper_jaas_file=path)
        self.assertEqual(
            str(missing), f"kafkatx.zookeeper.jaas.file={path}: it cannot be read: No such file or directory"
        )
        with open(path, "w") as file:
            file.write(f'Client {{ {MODULE} required username="u" password="p"; }};')
        self.assertEqual(read(kafkatx_zookeeper_jaas_file=path).credentials, ("u", "p"))
        with open(path, "w") as file:
            file.write("Server { };")
        error = self.assertRaises(SettingError, read, kafkatx_zookeeper_jaas_file=path)
        self.assertEqual(
            str(error), f"kafkatx.zookeeper.jaas.file={path}: it has no section Client {{ ... }};"
        )

    def test_not_installed(self) -> None:
        """SASL without pure-sasl is refused with what to install."""
        self.patch(importlib.util, "find_spec", lambda name: None)
        error = self.assertRaises(
            SettingError, read, kafkatx_zookeeper_username="u", kafkatx_zookeeper_password="p"
        )
        self.assertEqual(
            str(error),
            "kafkatx.zookeeper.username: SASL needs pure-sasl; pip install 'kafkatx[zookeeper]'",
        )


class TlsTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Write a certificate."""
        self.pem = self.mktemp()
        with open(self.pem, "w") as file:
            file.write(self_signed().dumpPEM().decode())

    def tls(self, **settings: str) -> ssl.SSLContext:
        """Return the context."""
        context = read(
            zookeeper_ssl_client_enable="true",
            **{f"zookeeper_ssl_{name}": value for name, value in settings.items()},
        ).tls
        assert context is not None
        return context

    def test_contexts(self) -> None:
        """Servers must have a trusted certificate that names them, unless that is switched off."""
        self.assertIs(read(zookeeper_ssl_truststore_location=self.pem).tls, None)
        context = self.tls(truststore_location=self.pem, keystore_location=self.pem)
        self.assertEqual((context.verify_mode, context.check_hostname), (ssl.CERT_REQUIRED, True))
        self.assertEqual(len(context.get_ca_certs()), 0)  # a certificate that is not an authority's
        self.assertEqual(context.cert_store_stats()["x509"], 1)
        self.assertFalse(self.tls(endpoint_identification_algorithm="").check_hostname)

    def test_stores(self) -> None:
        """Keystores of PKCS12 are told by their content; a wrong password is an error."""
        authority = make_authority("tests")
        issued = issue(authority, "broker", ("localhost",))
        encryption = BestAvailableEncryption(b"changeit")
        both = pkcs12.serialize_key_and_certificates(
            b"b", issued.key, issued.certificate, [authority.certificate], encryption
        )
        store = self.mktemp()
        with open(store, "wb") as file:
            file.write(both)
        named = {"keystore_location": store, "truststore_location": store}
        context = self.tls(**named, keystore_password="changeit", truststore_password="changeit")
        self.assertGreaterEqual(context.cert_store_stats()["x509"], 1)
        for name in named:
            password = f"{name.partition('_')[0]}_password"
            error = str(self.assertRaises(SettingError, self.tls, **{name: store, password: "wrong"}))
            self.assertIn(f"zookeeper.ssl.{name.replace('_', '.')}={store}: it ", error)

    def test_bad_files(self) -> None:
        """Files that are missing or not PEM are named, with the setting."""
        bad = self.mktemp()
        with open(bad, "w") as file:
            file.write("nothing")
        for name in ("truststore", "keystore"):
            error = str(self.assertRaises(SettingError, self.tls, **{f"{name}_location": "/no/file"}))
            self.assertEqual(
                error, f"zookeeper.ssl.{name}.location=/no/file: it cannot be read: No such file or directory"
            )
            error = str(self.assertRaises(SettingError, self.tls, **{f"{name}_location": bad}))
            self.assertTrue(
                error.startswith(f"zookeeper.ssl.{name}.location={bad}: it is no PEM file"), error
            )
