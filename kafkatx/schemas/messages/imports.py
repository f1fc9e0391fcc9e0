"""Schemas that an application's classes refer to, before a registry knows them."""

from __future__ import annotations

import attrs

from kafkatx.schemas.types import Schema


@attrs.frozen
class Import:
    """A schema that another one refers to by *name*, with those that it refers to itself."""

    name: str
    schema: Schema
    imports: tuple[Import, ...] = ()
