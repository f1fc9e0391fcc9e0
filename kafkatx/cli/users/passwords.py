"""The password of a user: from a file, the environment, or a person; never from the command line."""

from __future__ import annotations

import getpass
import os
import sys

import click

from kafkatx.cli.output.terminal import interactive

VARIABLE = "KAFKATX_PASSWORD"


def read_password(path: str | None, user: str) -> str:
    """Return the password of a user.

    :param path: a file whose first line is the password, ``-`` for standard input; None: the environment's
        ``KAFKATX_PASSWORD``, or a person at the terminal is asked.
    :raises OSError: the file cannot be read.
    :raises click.UsageError: there is no password.
    """
    password = _from_file(path) if path is not None else os.environ.get(VARIABLE)
    if password is None and interactive(sys.stdin):
        password = _asked(user)
    if not password:
        raise click.UsageError(
            f"no password: give --password-file FILE, or set {VARIABLE}; it is never on the command line"
        )
    return password


def _from_file(path: str) -> str:
    if path == "-":
        return sys.stdin.readline().rstrip("\r\n")
    with open(path, encoding="utf-8") as file:
        return file.readline().rstrip("\r\n")


def _asked(user: str) -> str:
    first = getpass.getpass(f"password of {user}: ")
    if first != getpass.getpass("again: "):
        raise click.UsageError("the two passwords differ: nothing was changed")
    return first
