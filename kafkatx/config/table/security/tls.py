"""The part of the settings table about TLS: for listeners of brokers, and shared with clients.

Names and meanings are Apache Kafka's. A broker may set each of them for one listener:
``listener.name.<name in lower case>.<setting>``.
"""

from __future__ import annotations

from kafkatx.config.table.row import Section

PROTOCOLS = ("TLSv1.2", "TLSv1.3")
STORE_TYPES = ("JKS", "PKCS12", "PEM")

SHARED = Section("TLS", "Certificates, keys, and what both ends of a connection check.")

SSL_KEYSTORE_LOCATION = SHARED.optional_string(
    "ssl.keystore.location",
    "File with the private key and its certificate chain: PEM, PKCS12 or JKS; the content tells which. "
    "A broker reads it again when it changes.",
    dynamic=True,
)
SSL_KEYSTORE_TYPE = SHARED.string(
    "ssl.keystore.type", "JKS", "Accepted and not needed: the content tells the type.", choices=STORE_TYPES
)
SSL_KEYSTORE_PASSWORD = SHARED.optional_password("ssl.keystore.password", "Password of the keystore.")
SSL_KEY_PASSWORD = SHARED.optional_password(
    "ssl.key.password", "Password of the private key; by default the keystore's."
)
SSL_KEYSTORE_KEY = SHARED.optional_password(
    "ssl.keystore.key", "Private key as PEM text (PKCS#8), in place of a keystore file."
)
SSL_KEYSTORE_CERTIFICATE_CHAIN = SHARED.optional_string(
    "ssl.keystore.certificate.chain", "Certificate chain as PEM text, with `ssl.keystore.key`."
)
SSL_TRUSTSTORE_LOCATION = SHARED.optional_string(
    "ssl.truststore.location",
    "File with the certificates of trusted authorities: PEM, PKCS12 or JKS. A client without one trusts the"
    " authorities of the system.",
    dynamic=True,
    aliases=("ssl.ca.location",),
)
SSL_TRUSTSTORE_TYPE = SHARED.string(
    "ssl.truststore.type", "JKS", "Accepted and not needed: the content tells the type.", choices=STORE_TYPES
)
SSL_TRUSTSTORE_PASSWORD = SHARED.optional_password("ssl.truststore.password", "Password of the truststore.")
SSL_TRUSTSTORE_CERTIFICATES = SHARED.optional_string(
    "ssl.truststore.certificates", "Trusted authorities as PEM text, in place of a truststore file."
)
SSL_ENABLED_PROTOCOLS = SHARED.names(
    "ssl.enabled.protocols", PROTOCOLS, "Versions of TLS.", choices=PROTOCOLS, empty=False
)
SSL_CIPHER_SUITES = SHARED.names(
    "ssl.cipher.suites",
    (),
    "Cipher suites of TLS 1.2, by their names in Java (TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384) or OpenSSL. "
    "Empty: OpenSSL's secure ones. TLS 1.3 always has all of its own.",
)
SSL_ENDPOINT_IDENTIFICATION_ALGORITHM = SHARED.string(
    "ssl.endpoint.identification.algorithm",
    "https",
    "Check by clients, also brokers among each other, that a certificate is for the host: https, or empty "
    "for no check.",
    choices=("https", ""),
)

SERVER = Section("TLS of listeners", "Further settings of listeners with the protocol SSL.")

SSL_CLIENT_AUTH = SERVER.string(
    "ssl.client.auth",
    "none",
    "Client certificates: none (not asked for), requested (checked if there is one) or required.",
    choices=("none", "requested", "required"),
)
SSL_PRINCIPAL_MAPPING_RULES = SERVER.string(
    "ssl.principal.mapping.rules",
    "DEFAULT",
    "Rules that make a principal's name from the distinguished name of a client's certificate, separated by "
    "commas: RULE:pattern/replacement/, with L or U at the end for lower or upper case, or DEFAULT. The "
    "first one that matches counts.",
)
KAFKATX_TLS_HANDSHAKE_TIMEOUT_MS = SERVER.integer(
    "kafkatx.tls.handshake.timeout.ms",
    10_000,
    "Time-out of a handshake; after it the connection is closed.",
    low=1,
    unit="ms",
)
KAFKATX_TLS_HANDSHAKES_MAX = SERVER.integer(
    "kafkatx.tls.handshakes.max",
    1000,
    "Handshakes of a listener in progress; above it the oldest is closed for each new one.",
    low=1,
)
KAFKATX_TLS_HANDSHAKES_PER_SECOND = SERVER.integer(
    "kafkatx.tls.handshakes.per.second",
    500,
    "Handshakes that a listener begins in a second; others wait for their turn.",
    low=1,
)

SECTIONS = (SHARED, SERVER)
"""This part of the table."""

BY_LISTENER = {row.name: row for section in SECTIONS for row in section.settings}
"""Settings that a listener may have for itself, by name."""
