"""The Java that systems run on."""

from __future__ import annotations

import re
import subprocess


def version() -> str:
    """Its version."""
    told = subprocess.run(["java", "-version"], capture_output=True, text=True).stderr
    found = re.search(r'version "([^"]+)"', told)
    return found[1] if found else "unknown"
