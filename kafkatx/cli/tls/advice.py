"""The settings that ``kafkatx tls init`` prints: of a broker, and of six clients. Pure."""

from __future__ import annotations

from kafkatx.cli.tls.files import Made

_BROKER = """\
# server.properties of the broker {name}
listeners=SSL://:9093
advertised.listeners=SSL://{host}:9093
ssl.keystore.location={keystore}
ssl.truststore.location={ca}
ssl.client.auth={auth}
"""
_CLIENTS = """\
# kafkatx: client.properties, for --command-config and in the clients' settings
security.protocol=SSL
ssl.truststore.location={ca}
{kafkatx}
# librdkafka (confluent-kafka, kcat -X name=value)
security.protocol=SSL
ssl.ca.location={ca}
{librdkafka}
# Java: client.properties
security.protocol=SSL
ssl.truststore.type=PEM
ssl.truststore.location={ca}
{java}
# kafka-python and aiokafka
context = ssl.create_default_context(cafile="{ca}")
{python}KafkaProducer(bootstrap_servers="{host}:9093", security_protocol="SSL", ssl_context=context)

# kafkajs
new Kafka({{brokers: ["{host}:9093"], ssl: {{ca: [fs.readFileSync("{ca}")]{kafkajs}}}}})

# franz-go
pool := x509.NewCertPool(); pem, _ := os.ReadFile("{ca}"); pool.AppendCertsFromPEM(pem)
{go}kgo.NewClient(kgo.SeedBrokers("{host}:9093"), kgo.DialTLSConfig(&tls.Config{{RootCAs: pool{go_pair}}}))
"""


def advice(made: Made) -> str:
    """Return the settings of the brokers, and those of six clients for the first user."""
    auth = "required" if made.users else "none"
    parts = []
    for name, keystore in made.brokers.items():
        host = "localhost" if name == "broker" else name
        parts.append(_BROKER.format(name=name, host=host, keystore=keystore, ca=made.ca, auth=auth))
    first = next(iter(made.brokers))
    user = next(iter(made.users.values()), None)
    parts.append(_CLIENTS.format(ca=made.ca, host="localhost" if first == "broker" else first, **_own(user)))
    return "\n".join(parts).rstrip()


def _own(keystore: str | None) -> dict[str, str]:
    """Return the lines with the user's own certificate; empty ones without a user."""
    names = ("kafkatx", "librdkafka", "java", "python", "kafkajs", "go", "go_pair")
    if keystore is None:
        return dict.fromkeys(names, "")
    base = keystore.removesuffix(".pem")
    key, certificate = f"{base}.key", f"{base}.crt"
    return {
        "kafkatx": f"ssl.keystore.location={keystore}\n",
        "librdkafka": f"ssl.certificate.location={certificate}\nssl.key.location={key}\n",
        "java": f"ssl.keystore.type=PEM\nssl.keystore.location={keystore}\n",
        "python": f'context.load_cert_chain("{certificate}", "{key}")\n',
        "kafkajs": f', cert: fs.readFileSync("{certificate}"), key: fs.readFileSync("{key}")',
        "go": f'pair, _ := tls.LoadX509KeyPair("{certificate}", "{key}")\n',
        "go_pair": ", Certificates: []tls.Certificate{pair}",
    }
