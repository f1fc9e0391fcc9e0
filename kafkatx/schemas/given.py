"""The schema that a setting gives: as an object, as text, or as the name of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kafkatx.errors import SettingError


def given_schema(setting: str, value: Any) -> Any:
    """Return the schema that a setting gives; None if it gives none.

    :param value: an object; or text: a schema, or ``@`` and the path of a file that has it.
    :raises SettingError: the file cannot be read.
    """
    if not isinstance(value, str):
        return value
    text = value.strip()
    if not text:
        return None
    if not text.startswith("@"):
        return text
    try:
        return Path(text[1:]).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise SettingError(f"{setting}={text}: {getattr(error, 'strerror', None) or error}") from error
