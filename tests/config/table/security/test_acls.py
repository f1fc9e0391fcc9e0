"""Settings of access control: the authorizer's names, and super users."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.config import BrokerConfig
from kafkatx.config.table.security import acls as a
from kafkatx.errors import SettingError


class AclSettingsTests(SynchronousTestCase):
    def test_names(self) -> None:
        """The class names of Apache Kafka's authorizers mean ours; without one there is none."""
        for text, expected in (
            ("kafka.security.auth.SimpleAclAuthorizer", "acl"),
            ("kafka.security.authorizer.AclAuthorizer", "acl"),
            (" org.apache.kafka.metadata.authorizer.StandardAuthorizer ", "acl"),
            ("acl", "acl"),
            ("com.acme.Authorizer", "com.acme.Authorizer"),
            (" ", ""),
        ):
            config = BrokerConfig.load(None, {"authorizer.class.name": text})
            self.assertEqual((config[a.AUTHORIZER_CLASS_NAME], config.warnings), (expected, ()))
        self.assertEqual(BrokerConfig.load()[a.AUTHORIZER_CLASS_NAME], "")

    def test_super_users(self) -> None:
        """Semicolons separate principals, so names may have commas; spaces and empty parts do not count."""
        found = a.super_users("User:CN=a,OU=b; User:admin ;;")
        self.assertEqual(found, {"User:CN=a,OU=b", "User:admin"})
        for text in ("admin", "User:a;bob", "User:", ":a"):
            self.assertRaises(SettingError, BrokerConfig.load, None, {"super.users": text})
