"""The part of the settings table about SASL: logins at listeners, and those of clients.

Names and meanings are Apache Kafka's. A broker may set those of :data:`BY_LISTENER` for one listener
(``listener.name.<listener>.<setting>``), and those of :data:`BY_MECHANISM` for one mechanism of a listener
(``listener.name.<listener>.<mechanism>.<setting>``), both names in lower case.
"""

from __future__ import annotations

from kafkatx.config.table.row import Section

MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")

SERVER = Section(
    "SASL of listeners",
    "Logins at listeners with the protocol SASL_SSL or SASL_PLAINTEXT: see `kafkatx docs security`.",
)

SASL_ENABLED_MECHANISMS = SERVER.names(
    "sasl.enabled.mechanisms",
    ("SCRAM-SHA-256", "SCRAM-SHA-512"),
    "Mechanisms by which clients may log in. Kafka's default is GSSAPI, which kafkatx does not have.",
    choices=MECHANISMS,
    empty=False,
)
SASL_MECHANISM_INTER_BROKER_PROTOCOL = SERVER.optional_string(
    "sasl.mechanism.inter.broker.protocol",
    "Mechanism by which brokers log in at each other, with username and password of its login module. By "
    "default the first of sasl.enabled.mechanisms.",
    choices=MECHANISMS,
)
SASL_SERVER_MAX_RECEIVE_SIZE = SERVER.integer(
    "sasl.server.max.receive.size",
    524_288,
    "Largest request of a client that has not logged in yet.",
    low=1024,
    unit="bytes",
)
CONNECTION_FAILED_AUTHENTICATION_DELAY_MS = SERVER.integer(
    "connection.failed.authentication.delay.ms",
    100,
    "Time from the request of a failed login to its answer, after which the connection is closed.",
    low=0,
    high=60_000,
    unit="ms",
)
CONNECTIONS_MAX_REAUTH_MS = SERVER.long(
    "connections.max.reauth.ms",
    0,
    "Time after which a client has to log in again on its connection (KIP-368), which is closed otherwise. "
    "0: never, but when its token expires.",
    low=0,
    unit="ms",
)
KAFKATX_SASL_TIMEOUT_MS = SERVER.integer(
    "kafkatx.sasl.timeout.ms",
    10_000,
    "Time-out of a login; after it the connection is closed.",
    low=1,
    unit="ms",
)
KAFKATX_PLAIN_CHECKERS = SERVER.names(
    "kafkatx.plain.checkers",
    ("jaas",),
    "Checkers of the user names and passwords of PLAIN, asked in this order until one agrees: jaas (the "
    "options user_NAME of the login module), file (kafkatx.users.file), scram (the users with SCRAM "
    "credentials), or an installed plugin.",
    empty=False,
)
KAFKATX_USERS_FILE = SERVER.optional_string(
    "kafkatx.users.file",
    "File with users and hashes of their passwords, for the checker file: kafkatx users add --file makes "
    "it. It is read again when it changes.",
)
KAFKATX_JAAS_FILE = SERVER.optional_string(
    "kafkatx.jaas.file",
    "JAAS file with a section KafkaServer, or NAME.KafkaServer with the name of a listener in lower case; "
    "for mechanisms without a sasl.jaas.config.",
    aliases=("java.security.auth.login.config",),
)

MECHANISM = Section(
    "SASL of one mechanism of a listener",
    "LISTENER and MECHANISM stand for names in lower case, for example "
    "listener.name.sasl_ssl.plain.sasl.jaas.config. connections.max.reauth.ms, kafkatx.plain.checkers and "
    "sasl.oauthbearer.* may be set in this way, too, or for all mechanisms of a listener: "
    "listener.name.LISTENER.connections.max.reauth.ms.",
)
SASL_JAAS_CONFIG = MECHANISM.optional_password(
    "sasl.jaas.config",
    'Login module of the mechanism, with Apache Kafka\'s class name: CLASS required username="..." '
    'password="..."; for the broker\'s own login, and user_NAME="..." for each user of PLAIN.',
)
SASL_SERVER_CALLBACK_HANDLER_CLASS = MECHANISM.optional_string(
    "sasl.server.callback.handler.class",
    "Of Apache Kafka's classes, PlainServerCallbackHandler means the checker jaas, and "
    "OAuthBearerValidatorCallbackHandler tokens that are checked by sasl.oauthbearer.jwks.endpoint.url; no "
    "other one is known.",
)

OAUTH = Section(
    "OAUTHBEARER of listeners", "Checks of the tokens (JWT) of clients; this needs the extra oauth."
)
JWKS_ENDPOINT_URL = OAUTH.optional_string(
    "sasl.oauthbearer.jwks.endpoint.url",
    "URL of the keys (JWKS) that sign tokens: https, http at this machine, or file.",
)
JWKS_ENDPOINT_REFRESH_MS = OAUTH.long(
    "sasl.oauthbearer.jwks.endpoint.refresh.ms",
    3_600_000,
    "Interval at which the keys are fetched again.",
    low=1000,
    unit="ms",
)
JWKS_ENDPOINT_RETRY_BACKOFF_MS = OAUTH.long(
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms",
    100,
    "Pause after the keys could not be fetched, or an unknown key was looked for; it doubles each time.",
    low=1,
    unit="ms",
)
JWKS_ENDPOINT_RETRY_BACKOFF_MAX_MS = OAUTH.long(
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms", 10_000, "Longest such pause.", low=1, unit="ms"
)
EXPECTED_AUDIENCE = OAUTH.names(
    "sasl.oauthbearer.expected.audience",
    (),
    "Audiences (aud), of which a token has to have one; empty: not checked.",
)
EXPECTED_ISSUER = OAUTH.optional_string(
    "sasl.oauthbearer.expected.issuer", "Issuer (iss) that a token has to have."
)
CLOCK_SKEW_SECONDS = OAUTH.integer(
    "sasl.oauthbearer.clock.skew.seconds",
    30,
    "Tolerated difference between the clocks of this machine and of the issuer.",
    low=0,
    high=3600,
    unit="s",
)
SUB_CLAIM_NAME = OAUTH.string(
    "sasl.oauthbearer.sub.claim.name", "sub", "Claim of a token that has the name of the user."
)
SCOPE_CLAIM_NAME = OAUTH.string(
    "sasl.oauthbearer.scope.claim.name", "scope", "Claim of a token that has its scope."
)

CLIENT = Section(
    "SASL",
    "The login with security.protocol SASL_SSL or SASL_PLAINTEXT. User name and password come from "
    "sasl.jaas.config, or from sasl.username and sasl.password.",
)
SASL_MECHANISM = CLIENT.optional_string(
    "sasl.mechanism",
    "Mechanism of the login. Kafka's default is GSSAPI, which kafkatx does not have.",
    choices=MECHANISMS,
    aliases=("sasl.mechanisms",),
)
CLIENT_JAAS_CONFIG = CLIENT.optional_password(
    "sasl.jaas.config",
    'Login module, with Apache Kafka\'s class name: CLASS required username="..." password="..."; for '
    "OAUTHBEARER clientId, clientSecret and scope.",
)
SASL_USERNAME = CLIENT.optional_string("sasl.username", "User name, in place of sasl.jaas.config.")
SASL_PASSWORD = CLIENT.optional_password("sasl.password", "Password, in place of sasl.jaas.config.")
TOKEN_ENDPOINT_URL = CLIENT.optional_string(
    "sasl.oauthbearer.token.endpoint.url",
    "URL of a token endpoint (https, or http at this machine), which is asked with the grant "
    "client_credentials; or of a file with a token (file:///...), which is read for each login.",
)
CLIENT_ID = CLIENT.optional_string(
    "sasl.oauthbearer.client.credentials.client.id",
    "Client id for the token endpoint, in place of sasl.jaas.config.",
)
CLIENT_SECRET = CLIENT.optional_password(
    "sasl.oauthbearer.client.credentials.client.secret",
    "Client secret for the token endpoint, in place of sasl.jaas.config.",
)
SCOPE = CLIENT.optional_string(
    "sasl.oauthbearer.scope", "Scope for the token endpoint, in place of sasl.jaas.config."
)
TOKEN = CLIENT.plugin(
    "kafkatx.sasl.oauthbearer.token",
    "",
    "A callable that returns a token for each login, in a thread; in place of the token endpoint.",
)
LOGIN_CONNECT_TIMEOUT_MS = CLIENT.integer(
    "sasl.login.connect.timeout.ms",
    10_000,
    "Time-out of connecting to the token endpoint.",
    low=1,
    unit="ms",
)
LOGIN_READ_TIMEOUT_MS = CLIENT.integer(
    "sasl.login.read.timeout.ms", 10_000, "Time-out of its reply.", low=1, unit="ms"
)

SECTIONS = (SERVER, OAUTH)
"""The settings that a broker may have for all of its listeners."""

_OF_BOTH = (CONNECTIONS_MAX_REAUTH_MS, KAFKATX_PLAIN_CHECKERS, KAFKATX_USERS_FILE, *OAUTH.settings)

BY_MECHANISM = {row.name: row for row in (*MECHANISM.settings, *_OF_BOTH)}
"""Settings that a mechanism of a listener may have for itself, by name."""

BY_LISTENER = {row.name: row for row in (SASL_ENABLED_MECHANISMS, *_OF_BOTH)}
"""Settings that a listener may have for itself, by name."""
