"""The options of commands that ask a schema registry."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import unquote

import click

from kafkatx.cli.options.cluster import command_config
from kafkatx.cli.output.terminal import ask_password
from kafkatx.errors import KafkaTXError

if TYPE_CHECKING:
    from kafkatx.blocking.registry import BlockingRegistry
    from kafkatx.schemas.types import Reference, Schema

F = TypeVar("F", bound=Callable[..., object])

DEFAULT_REGISTRY = "http://127.0.0.1:8081"
TYPES = ("avro", "json-schema", "protobuf")

registry_option = click.option(
    "--registry",
    metavar="URL,...",
    default="",
    envvar="KAFKATX_REGISTRY",
    show_default=DEFAULT_REGISTRY,
    show_envvar=True,
    help="Address of the schema registry; it may have a user. --command-config may have "
    "schema.registry.url, basic.auth.user.info and schema.registry.ssl.*.",
)
"""Adds ``--registry``, passed as *registry*; empty: not given."""

type_option = click.option(
    "--type",
    "kind",
    type=click.Choice(TYPES),
    help="Language of the schema; by default by the file's name: .json-schema, .proto, else avro.",
)
"""Adds ``--type``, passed as *kind*."""

references_option = click.option(
    "--reference",
    "references",
    metavar="NAME=SUBJECT:VERSION",
    multiple=True,
    help="Schema that this one refers to by NAME; repeatable.",
)
"""Adds ``--reference``, passed as *references*."""


def open_registry(registry: str, timeout_s: float) -> BlockingRegistry:
    """Return a client of the registry; it connects at its first use.

    :param registry: empty: the address in ``--command-config``, else that of ``kafkatx up``.
    :raises SettingError: the address or another setting is wrong.
    """
    from kafkatx.blocking.registry import BlockingRegistry

    timeout_ms = max(1, round(timeout_s * 1000))
    times = {"http.read.timeout.ms": timeout_ms, "http.connect.timeout.ms": min(timeout_ms, 10_000)}
    return BlockingRegistry.of({**times, **registry_settings(registry)})


def registry_settings(registry: str) -> dict[str, str]:
    """Return the settings of a registry's client: the address, and those in ``--command-config``.

    If the address names a user without a password, and no setting has it, a terminal is asked for it.

    :param registry: as for :func:`open_registry`.
    """
    from kafkatx.blocking.security import is_tls
    from kafkatx.clientcore.tables.registry import NAMES, URL, USER_INFO

    found = {name: value for name, value in command_config().items() if name in NAMES or is_tls(name)}
    found[URL.name] = registry or found.get(URL.name) or DEFAULT_REGISTRY
    user = _user_without_password(found[URL.name])
    if user is not None and not any(name in found for name in (USER_INFO.name, *USER_INFO.aliases)):
        password = ask_password(f"Password of {user} for the schema registry")
        if password is not None:
            found[USER_INFO.name] = f"{user}:{password}"
    return found


def _user_without_password(addresses: str) -> str | None:
    for address in addresses.split(","):
        user, at, _ = address.rpartition("://")[2].rpartition("@")
        if at and ":" not in user:
            return unquote(user)
    return None


def read_schema(place: str, kind: str | None, references: tuple[str, ...] = ()) -> Schema:
    """Return the schema in a file, ``-`` for standard input, or in the argument itself.

    :raises KafkaTXError: the file cannot be read.
    :raises click.UsageError: a reference is not as it has to be.
    """
    from kafkatx.schemas.messages.formats import NAMES
    from kafkatx.schemas.types import Schema

    if place.lstrip()[:1] in ("{", "[", '"') or "\n" in place:
        text = place
    elif place == "-":
        text = sys.stdin.read()
    else:
        try:
            text = Path(place).read_text(encoding="utf-8")
        except (OSError, UnicodeError) as error:
            raise KafkaTXError(f"{place}: {getattr(error, 'strerror', None) or error}") from error
    return Schema(text, NAMES[kind or _kind_of(place)], tuple(map(_reference, references)))


def _kind_of(place: str) -> str:
    if place.endswith(".proto"):
        return "protobuf"
    return "json-schema" if place.endswith((".json-schema", ".schema.json")) else "avro"


def _reference(text: str) -> Reference:
    from kafkatx.schemas.types import Reference

    name, equals, place = text.partition("=")
    subject, colon, version = place.rpartition(":")
    if not (name and equals and subject and colon and version.isascii() and version.isdigit()):
        raise click.UsageError(f"--reference {text}: give NAME=SUBJECT:VERSION")
    return Reference(name, subject, int(version))
