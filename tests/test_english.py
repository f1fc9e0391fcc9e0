"""Docstrings and help texts follow the rules of ``tests.english``, and the rules find what they should."""

from __future__ import annotations

from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from tests.english import check_file, check_tree

ROOT = Path(__file__).parent.parent


class RulesTests(SynchronousTestCase):
    def faults(self, text: str) -> list[str]:
        """Check a module with this text, and return the reasons that were found."""
        path = Path(self.mktemp()).with_suffix(".py")
        path.write_text(text, encoding="utf-8")
        return [fault.split(": ", 1)[1] for fault in check_file(path)]

    def test_openers(self) -> None:
        """A docstring that opens with a question word or a preposition is found, wherever it stands."""
        text = (
            '"""What is asked."""\nclass A:\n    """Whether it is."""\n'
            '    def b(self):\n        """Let it go."""\n'
        )
        self.assertEqual(
            self.faults(text),
            [
                "the docstring opens with 'What'",
                "the docstring opens with 'Whether'",
                "the docstring opens with 'Let'",
            ],
        )

    def test_imperative(self) -> None:
        """A function opens with an imperative; a property and a class may open with a noun phrase."""
        text = (
            'class A:\n    """A thing."""\n    def b(self):\n        """The offset."""\n'
            '    @property\n    def c(self):\n        """The offset."""\n'
            '    def d(self):\n        """Return the offset."""\n'
        )
        self.assertEqual(
            self.faults(text), ["a function's docstring opens with 'The', not with an imperative"]
        )

    def test_riddles(self) -> None:
        """Words that hide their subject are found in docstrings and comments."""
        text = 'def a():\n    """Wake whoever waits."""\n    return 1  # somebody needs it\n'
        self.assertEqual(self.faults(text), ["the docstring says 'whoever'", "the comment says 'somebody'"])

    def test_help(self) -> None:
        """A help text names its thing."""
        self.assertEqual(self.faults('a(help="Which Spark.")\n'), ["the help text opens with 'Which'"])
        self.assertEqual(self.faults('a(help="URL of the Spark master.")\n'), [])


class EnglishTests(SynchronousTestCase):
    def test_tree(self) -> None:
        """No docstring and no help text breaks a rule: package, tests, benchmarks, examples."""
        folders = ("kafkatx", "tests", "benchmarks", "docs", "twisted", "pyspark_kafkatx")
        self.assertEqual(list(check_tree([ROOT / folder for folder in folders])), [])
