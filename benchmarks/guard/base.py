"""The commit that the tree is compared with, and its code in a folder of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CODE = ("kafkatx", "twisted")
"""What the measured broker is made of: a tree that differs elsewhere is as fast."""
MAIN = "origin/main"


class NoBase(Exception):
    """There is no such commit, or no git."""


def git(*arguments: str) -> str:
    """Run git and return its output.

    :raises NoBase: it fails.
    """
    try:
        done = subprocess.run(["git", "-C", ROOT, *arguments], capture_output=True, text=True)
    except FileNotFoundError:
        raise NoBase("git is not installed") from None
    if done.returncode:
        raise NoBase(f"git {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout


def commit_of(name: str) -> str | None:
    """The commit that a name stands for; None: there is none."""
    try:
        return git("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}").strip()
    except NoBase:
        return None


def differs(commit: str) -> bool:
    """Return True if the tree's code differs from a commit's; untracked files count."""
    changed = git("diff", "--name-only", commit, "--", *CODE)
    return bool(changed or git("ls-files", "--others", "--exclude-standard", "--", *CODE))


def default_base(main_differs: bool, head_differs: bool) -> str:
    """Return the commit to compare with if none is named."""
    if main_differs:
        return MAIN
    return "HEAD" if head_differs else "HEAD~1"


def choose(asked: str) -> tuple[str, str]:
    """The name and the id of the commit to compare with.

    :param asked: its name; empty: the default.
    :raises NoBase: it is not here.
    """
    main = None if asked else commit_of(MAIN)
    name = asked or default_base(main is not None and differs(main), differs("HEAD"))
    commit = commit_of(name)
    if commit is None:
        raise NoBase(f"there is no commit {name} here (a shallow clone?): name one with BASE=")
    return name, commit


@contextmanager
def checked_out(commit: str) -> Iterator[str]:
    """A folder with a commit's files, removed in the end.

    :raises NoBase: git cannot check it out.
    """
    folder = tempfile.mkdtemp(prefix="kafkatx-guard-base-")
    tree = os.path.join(folder, "tree")
    try:
        git("worktree", "add", "--detach", tree, commit)
        yield tree
    finally:
        with suppress(NoBase):  # it may not have come so far
            git("worktree", "remove", "--force", tree)
        shutil.rmtree(folder, ignore_errors=True)
