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

    def test_quotes(self) -> None:
        """Quotes and escapes are those of Java: single ones as well, each with the other inside."""
        for value, password in (
            ("'se cret'", "se cret"),
            ('"it\'s"', "it's"),
            ("'a \"b\"'", 'a "b"'),
            (r"'it\'s'", "it's"),
            (r'"a\\b\x\/"', r"a\bx/"),
            (r"'\a\b\f\n\r\t\v'", "\a\b\f\n\r\t\v"),
            (r"'\101\78\400\0'", "A\x078\x200\0"),
            ("''", ""),
            ("'// no comment'", "// no comment"),
            ("plain", "plain"),
        ):
            module = parse_entry(f"{PLAIN} required username='me' password={value};", "PLAIN")
            self.assertEqual(module.login, ("me", password), value)

    def test_wrong(self) -> None:
        """Malformed entries and other login modules are refused, without a word of the passwords."""
        wrong = (
            *("", PLAIN, f"{PLAIN} required", f'{PLAIN} username="sesame";', ENTRY[:-1], ENTRY + ENTRY),
            *(
                f"{PLAIN} required password;",
                f'{PLAIN} required password "sesame";',
                f'{PLAIN} required x="sesame',
                f"{PLAIN} required x='sesame\n';",
                f"{PLAIN} required x=se'same';",
            ),
            *(f"{SCRAM} required password=sesame;", f"{PLAIN} required ===;"),
        )
        for text in wrong:
            error = self.assertRaises(JaasError, parse_entry, text, "PLAIN")
            self.assertNotIn("sesame", str(error))

    def test_quote_without_end(self) -> None:
        """The message says what is missing, and in which line it begins."""
        error = self.assertRaises(JaasError, parse_entry, f"{PLAIN} required\nusername='me;", "PLAIN")
        self.assertEqual(str(error), "a quote or a comment that begins in line 2 has no end")

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
