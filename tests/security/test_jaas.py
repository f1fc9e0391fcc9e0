"""JAAS configurations."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.security.jaas import OAUTHBEARER, PLAIN, SCRAM, JaasError, parse_entry, parse_section

ENTRY = f'{PLAIN} required username="broker" password="b;{{}}=\\"" user_alice="a" user_bob=b;'

FILE = f"""
// the brokers' file
KafkaServer {{
    {SCRAM} required
    username="admin"   /* the brokers' own */
    password="s";
    {PLAIN} required user_x="y";
}};
sasl_ssl.KafkaServer {{ {SCRAM} REQUIRED username="inner" password="t"; }};
Client {{ org.apache.zookeeper.server.auth.DigestLoginModule required username="z" password="k"; }};
"""


class EntryTests(SynchronousTestCase):
    def test_entry(self) -> None:
        """An entry has its own login, and users; values in quotes may have any characters."""
        module = parse_entry(ENTRY, "PLAIN")
        self.assertEqual(module.login, ("broker", 'b;{}="'))
        self.assertEqual(module.users, {"alice": "a", "bob": "b"})
        self.assertIsNone(parse_entry(f"{OAUTHBEARER} required;", "OAUTHBEARER").login)

    def test_wrong(self) -> None:
        """Malformed entries and other login modules are refused, without a word of the passwords."""
        wrong = (
            *("", PLAIN, f"{PLAIN} required", f'{PLAIN} username="sesame";', ENTRY[:-1], ENTRY + ENTRY),
            *(
                f"{PLAIN} required password;",
                f'{PLAIN} required password "sesame";',
                f'{PLAIN} required x="sesame',
            ),
            *(f"{SCRAM} required password=sesame;", f"{PLAIN} required ===;"),
        )
        for text in wrong:
            error = self.assertRaises(JaasError, parse_entry, text, "PLAIN")
            self.assertNotIn("sesame", str(error))

    def test_no_secret_shown(self) -> None:
        """Options are not in the text for logs."""
        self.assertNotIn("alice", repr(parse_entry(ENTRY, "PLAIN")))


class FileTests(SynchronousTestCase):
    def test_sections(self) -> None:
        """The first section that has the mechanism's login module counts."""
        names = ("sasl_ssl.KafkaServer", "KafkaServer")
        for mechanism, login in (("SCRAM-SHA-512", ("inner", "t")), ("PLAIN", None)):
            module = parse_section(FILE, names, mechanism)
            assert module is not None
            self.assertEqual(module.login, login)
        self.assertIsNone(parse_section(FILE, names, "OAUTHBEARER"))
        self.assertIsNone(parse_section(FILE, ("other.KafkaServer",), "PLAIN"))

    def test_wrong(self) -> None:
        """A malformed file is refused."""
        for text in ("KafkaServer", "KafkaServer {", "{ };", "A { x; };", "} ;"):
            self.assertRaises(JaasError, parse_section, text, ("A",), "PLAIN")
