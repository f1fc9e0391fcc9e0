"""SCRAM: the examples of RFC 7677, an independent implementation at the other end, and attacks."""

from __future__ import annotations

import base64
import functools
import itertools
import random
from typing import Any

from twisted.trial.unittest import SkipTest, SynchronousTestCase

from kafkatx.security.sasl.credential import MECHANISMS, ScramCredential, decode64
from kafkatx.security.sasl.errors import SaslError
from kafkatx.security.sasl.scram import ScramClient, ScramServer

try:
    import scramp
except ImportError:  # it needs Python 3.11
    scramp = None

SHA_256 = MECHANISMS["SCRAM-SHA-256"]

# RFC 7677, section 3
NONCE, SERVER_NONCE = "rOprNGfwEbeRWgbNEkqO", "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
SALT = decode64("W22ZaJ0SNY7soEsUEjb6gQ==")
FIRST = b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
CHALLENGE = b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
FINAL = (
    b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
    b"p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
)
PROOF = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


def server(mechanism: Any = SHA_256, nonce: str = SERVER_NONCE) -> ScramServer:
    """Return a server's end."""
    return ScramServer(mechanism, nonce)


@functools.cache
def credential(password: str = "pencil", mechanism: Any = SHA_256) -> ScramCredential:
    """Return a stored credential."""
    return ScramCredential.of_password(mechanism, password, SALT, 4096)


@functools.cache
def salted_password(password: str) -> bytes:
    """Return the salted password."""
    return SHA_256.salted_password(password, SALT, 4096)


class Rfc7677Tests(SynchronousTestCase):
    def test_server(self) -> None:
        """A server takes the client's messages of the example, and sends the server's."""
        end = server()
        self.assertEqual(end.first(FIRST), "user")
        self.assertEqual(end.challenge(credential()), CHALLENGE)
        self.assertEqual(end.final(FINAL), PROOF)

    def test_client(self) -> None:
        """A client takes the server's messages of the example, and sends the client's."""
        client = ScramClient(SHA_256, "user", "pencil", NONCE)
        self.assertEqual(client.first(), FIRST)
        self.assertEqual(client.step(CHALLENGE), FINAL)
        self.assertIsNone(client.step(PROOF))


class OracleTests(SynchronousTestCase):
    """scramp at the other end."""

    def setUp(self) -> None:
        """Skip where it is not installed."""
        if scramp is None:
            raise SkipTest("scramp is not installed")

    def test_its_client(self) -> None:
        """Our server lets its client in, which accepts our proof."""
        for mechanism in MECHANISMS.values():
            theirs = scramp.ScramClient([mechanism.name], "alice", "secret,=")
            end = server(mechanism, "abc")
            self.assertEqual(end.first(theirs.get_client_first().encode()), "alice")
            theirs.set_server_first(end.challenge(credential("secret,=", mechanism)).decode())
            theirs.set_server_final(end.final(theirs.get_client_final().encode()).decode())

    def test_its_server(self) -> None:
        """Its server lets our client in, which accepts its proof."""
        for mechanism in MECHANISMS.values():
            theirs = scramp.ScramMechanism(mechanism.name)
            known = theirs.make_auth_info("secret,=", salt=SALT, iteration_count=4096)
            end = theirs.make_server(lambda user, known=known: {"a,b=c": known}[user])
            ours = ScramClient(mechanism, "a,b=c", "secret,=", "fyko+d2lbbFgONRv9qkxdawL")
            end.set_client_first(ours.first().decode())
            answer = ours.step(end.get_server_first().encode())
            assert answer is not None
            end.set_client_final(answer.decode())
            self.assertIsNone(ours.step(end.get_server_final().encode()))


class ServerTests(SynchronousTestCase):
    def exchange(self, password: str, nonce: str = SERVER_NONCE) -> tuple[ScramServer, bytes]:
        """Begin an exchange with a server that knows ``pencil``; return it, and the client's proof."""
        salted = {(SALT, 4096): salted_password(password)}  # it takes long to find
        client, end = ScramClient(SHA_256, "user", password, NONCE, salted), server(nonce=nonce)
        end.first(client.first())
        final = client.step(end.challenge(credential()))
        assert final is not None
        return end, final

    def test_wrong_password(self) -> None:
        """A wrong password is refused."""
        end, final = self.exchange("pencils")
        self.assertRaises(SaslError, end.final, final)

    def test_replay(self) -> None:
        """A proof counts once, and in its own exchange only."""
        end, final = self.exchange("pencil")
        end.final(final)
        self.assertRaises(SaslError, end.final, final)
        other, _ = self.exchange("pencil", "another")
        self.assertRaises(SaslError, other.final, final)

    def test_old_librdkafka(self) -> None:
        """A final message with the client's nonce twice is accepted, as by Apache Kafka."""
        for before in ("", NONCE):
            end, _ = self.exchange("pencil")
            self.send_proof(end, before)
        end, _ = self.exchange("pencil")
        self.assertRaises(SaslError, end.final, FINAL.replace(b"r=rOpr", b"r=xOpr"))

    def send_proof(self, end: ScramServer, before: str) -> None:
        """Send a final message whose nonce has a text in front."""
        bare = f"c=biws,r={before}{NONCE}{SERVER_NONCE}"
        salted = salted_password("pencil")
        client_key = SHA_256.hmac(salted, b"Client Key")
        message = f"{FIRST.decode()[3:]},{CHALLENGE.decode()},{bare}".encode()
        signature = SHA_256.hmac(SHA_256.digest(client_key), message)
        proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
        end.final(f"{bare},p={base64.b64encode(proof).decode()}".encode())

    def test_final_first(self) -> None:
        """A proof before the challenge is refused."""
        self.assertRaises(SaslError, server().final, FINAL)

    def test_first(self) -> None:
        """A first message asks for no channel binding, extension or other user; names are unescaped."""
        self.assertEqual(server().first(b"y,a=a=2Cb=3D,n=a=2Cb=3D,r=x"), "a,b=")
        wrong = (
            *(b"", b"n", b"n,,", b"n,,n=u", b"n,,r=x", b"n,,n=,r=x", b"n,,n=u,r=", b"p=tls-unique,,n=u,r=x"),
            *(b"n,,n=u=,r=x", b"n,,n=u=2c,r=x", b"n,a=v,n=u,r=x", b"n,,n=u,r=x,tokenauth=true"),
            *(b"n,,m=e,n=u,r=x", b"n,,n=u,r=x\xff", b"n,,n=u,r=a b", b"n,,n=u,r=x\n"),
        )
        for token in wrong:
            self.assertRaises(SaslError, server().first, token)

    def test_downgrade(self) -> None:
        """A client that was made to believe in another header is noticed."""
        end, final = self.exchange("pencil")
        changed = base64.b64encode(b"y,,")
        self.assertRaises(SaslError, end.final, final.replace(b"biws", changed))

    def test_damage(self) -> None:
        """No changed byte of a proof is accepted; what is malformed raises nothing but SaslError."""
        _, right = self.exchange("pencil")
        chance = random.Random(1)
        for at, _ in itertools.product(range(len(right)), range(3)):
            end, final = self.exchange("pencil")
            damaged = bytearray(final)
            damaged[at] ^= 1 << chance.randrange(8)
            try:
                end.final(bytes(damaged))
            except SaslError:
                continue
            # the last letter of base64 has bits without a meaning
            self.assertEqual(
                decode64(damaged.decode().rpartition("p=")[2]), decode64(right.decode().rpartition("p=")[2])
            )


class ClientTests(SynchronousTestCase):
    def client(self, password: str = "pencil", **more: Any) -> ScramClient:
        """Return a client's end."""
        return ScramClient(SHA_256, "user", password, NONCE, **more)

    def test_false_server(self) -> None:
        """A server that does not know the password is noticed, also one that leaves its proof out."""
        for proof in (b"v=AAAA", b"v=", b"", b"x", b"e=other-error", PROOF[2:], b"v=\xff"):
            client = self.client()
            client.step(CHALLENGE)
            self.assertRaises(SaslError, client.step, proof)

    def test_challenges(self) -> None:
        """A challenge has to answer our nonce, with iterations that are neither weak nor endless."""
        wrong = (
            *(b"", b"x", b"e=unknown-user", CHALLENGE.replace(b"rOpr", b"rOpx"), CHALLENGE[:-4] + b"4095"),
            *(
                CHALLENGE[:-4] + b"999999999",
                f"r={NONCE},s=QQ==,i=4096".encode(),
                CHALLENGE.replace(b"W22", b"W2"),
            ),
        )
        for challenge in wrong:
            self.assertRaises(SaslError, self.client().step, challenge)

    def test_known_salt(self) -> None:
        """Exchanges of one user share the salted password, which takes long to find."""
        salted: dict[tuple[bytes, int], bytes] = {}
        self.client(salted=salted).step(CHALLENGE)
        self.assertEqual(list(salted), [(SALT, 4096)])
        again = self.client("not looked at", salted=salted)
        self.assertEqual(again.step(CHALLENGE), FINAL)
