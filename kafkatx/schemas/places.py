"""Places in schemas, for messages: JSON pointers of bounded length. Pure."""

from __future__ import annotations

from typing import Final

_LONGEST: Final = 400


def below(place: str, *parts: str | int) -> str:
    """Return the place of a part.

    The end of a long place is left out: types that refer to each other can be as deep as a text is long.
    """
    if place.endswith("…"):
        return place
    steps = "/".join(str(part).replace("~", "~0").replace("/", "~1") for part in parts)
    longer = f"{place}/{steps}"
    return longer if len(longer) <= _LONGEST else f"{longer[:_LONGEST]}…"
