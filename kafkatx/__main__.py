"""``python -m kafkatx`` is the command ``kafkatx``."""

import sys

from kafkatx.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
