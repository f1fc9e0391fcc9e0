"""``make vendor``: write the console's vendored libraries anew from npm's packages.

Each library is one minified ES module (or style sheet) below ``console/static/vendor``, beside its licence.
They are npm's files with these changes only: an import by name becomes a relative one, because a page without
inline scripts has no import map; the pointer to a source map that is not here is cut; and uPlot's minified
script exports what it defines. ``vendor.json`` names each file with its package, version, path in the
package, and the SHA-256 of both.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import attrs

FOLDER = Path(__file__).parent.parent.parent / "kafkatx/broker/console/static/vendor"

IMPORTS = {
    "preact/hooks": "./preact-hooks.js",
    "preact": "./preact.js",
    "@preact/signals-core": "./signals-core.js",
}
SOURCE_MAP = re.compile(r"\n?//# sourceMappingURL=\S+\s*$")


@attrs.frozen
class Package:
    """A package of npm, and its files that the console uses: path in the package to name here."""

    name: str
    version: str
    licence: str
    files: dict[str, str]


PACKAGES = (
    Package(
        "preact",
        "11.2.0",
        "MIT",
        {
            "dist/preact.mjs": "preact.js",
            "hooks/dist/hooks.mjs": "preact-hooks.js",
            "LICENSE": "preact.LICENSE",
        },
    ),
    Package("htm", "3.1.1", "Apache-2.0", {"dist/htm.mjs": "htm.js", "LICENSE": "htm.LICENSE"}),
    Package(
        "@preact/signals",
        "2.11.4",
        "MIT",
        {"dist/signals.mjs": "signals.js", "LICENSE": "signals.LICENSE"},
    ),
    Package(
        "@preact/signals-core",
        "1.14.5",
        "MIT",
        {"dist/signals-core.mjs": "signals-core.js", "LICENSE": "signals-core.LICENSE"},
    ),
    Package(
        "uplot",
        "1.6.32",
        "MIT",
        {"dist/uPlot.iife.min.js": "uplot.js", "dist/uPlot.min.css": "uplot.css", "LICENSE": "uplot.LICENSE"},
    ),
)


def packed(name: str, version: str) -> dict[str, bytes]:
    """Download a package by ``npm pack``; return its files by path."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            ["npm", "pack", "--silent", f"{name}@{version}"],
            cwd=folder,
            check=True,
            capture_output=True,
            text=True,
        )
        archive = (Path(folder) / done.stdout.split()[-1]).read_bytes()
    files: dict[str, bytes] = {}
    with tarfile.open(fileobj=io.BytesIO(archive), mode="r:gz") as tar:
        for member in tar.getmembers():
            opened = tar.extractfile(member) if member.isfile() else None
            if opened is not None:
                files[member.name.partition("/")[2]] = opened.read()
    return files


def adapted(text: str, name: str) -> str:
    """Return a library's text as the console loads it."""
    if not name.endswith(".js"):
        return text
    text = SOURCE_MAP.sub("\n", text)
    for bare, path in IMPORTS.items():
        text = text.replace(f'from"{bare}"', f'from"{path}"')
    return text + "export default uPlot;\n" if name == "uplot.js" else text


def digest(content: bytes) -> str:
    """Return the SHA-256 of a file's content."""
    return hashlib.sha256(content).hexdigest()


def write(folder: Path = FOLDER) -> None:
    """Write each library, its licence and ``vendor.json``."""
    rows: list[dict[str, str]] = []
    for package in PACKAGES:
        files = packed(package.name, package.version)
        for path, name in package.files.items():
            content = adapted(files[path].decode("utf-8"), name).encode("utf-8")
            (folder / name).write_bytes(content)
            rows.append(
                {
                    "file": name,
                    "package": package.name,
                    "version": package.version,
                    "licence": package.licence,
                    "source": path,
                    "sourceSha256": digest(files[path]),
                    "sha256": digest(content),
                }
            )
    text = json.dumps(rows, indent=2) + "\n"
    (folder / "vendor.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write()
    sys.stdout.write(f"The libraries in {FOLDER} are written.\n")
