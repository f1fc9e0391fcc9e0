"""axe-core, the checker of accessibility, in the page that the browser shows."""

from __future__ import annotations

import os
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tests.browser.chromium import Browser

PATH_VARIABLE = "KAFKATX_AXE"
"""The environment variable that names another axe.min.js."""

GRAVE = ("serious", "critical")
RUN = """
const done = arguments[arguments.length - 1];
const failed = (error) => done([{id: String(error), nodes: []}]);
axe.run({resultTypes: ["violations"]}).then((found) => done(found.violations), failed);
"""


@lru_cache(maxsize=1)
def program() -> str:
    """Return the text of axe-core: the one in axe-core-python, or another one."""
    path = os.environ.get(PATH_VARIABLE)
    if path is None:
        found = find_spec("axe_core_python")
        assert found is not None and found.origin is not None, "axe-core-python is not installed"
        path = str(Path(found.origin).parent / "axe.min.js")
    return Path(path).read_text(encoding="utf-8")


def grave_faults(browser: Browser) -> list[str]:
    """Return what axe finds in the page that is serious or critical: rule, elements and why."""
    driver = browser.driver
    driver.execute_script(program())
    violations: list[dict[str, Any]] = driver.execute_async_script(RUN)
    return [
        f"{one['id']}: {node['html'][:200]}: {node['failureSummary'][:300]}"
        for one in violations
        if one.get("impact", "critical") in GRAVE
        for node in one["nodes"][:3]
    ]
