"""Tests of JAAS files."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.metadata.tree.zookeeper.jaas import MODULE, read_credentials
from kafkatx.security.jaas import JaasError

TAKEN = (
    f'Client {{\n  {MODULE} required\n  username="kafka"\n  password="secret";\n}};\n',
    f'// KafkaServer {{ }};\nServer {{ x required password="no"; }};\nClient {{{MODULE} required '
    'username = "kafka" /* of all */ password=secret; };',
)

REFUSED = (
    ("", "it has no section Client { ... };"),
    ("Client", "it has no section Client"),
    (f'KafkaServer {{ {MODULE} required username="kafka" password="s"; }};', "it has no section Client"),
    (f'// Client {{ {MODULE} required username="kafka" password="s"; }};', "it has no section Client"),
    ("Client { };", "its section Client has another module than org.apache"),
    ("Client { com.sun.security.auth.module.Krb5LoginModule required; };", "its section Client has another"),
    (f'Client {{ {MODULE} required username="kafka"; }};', "its section Client has no password"),
    (
        f'Client {{\n {MODULE} required\n username="kafka',
        "a quote or a comment that begins in line 3 has no end",
    ),
)


class ReadCredentialsTests(SynchronousTestCase):
    def test_taken(self) -> None:
        """Name and password are those of Client; comments and other sections are skipped."""
        for text in TAKEN:
            self.assertEqual(read_credentials(text), ("kafka", "secret"))

    def test_marks_in_a_password(self) -> None:
        """A quoted password may have any character; the backslash escapes one."""
        text = f'Client {{ {MODULE} required username="}}" password="=;// \\"\\\\ {{"; }};'
        self.assertEqual(read_credentials(text), ("}", '=;// "\\ {'))

    def test_refused(self) -> None:
        """A file without name and password for DIGEST-MD5 is refused, with what is missing."""
        for text, why in REFUSED:
            message = str(self.assertRaises(JaasError, read_credentials, text))
            self.assertTrue(message.startswith(why), message)
