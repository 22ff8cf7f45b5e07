"""`python -m burn.tools.benchmark` is `burn-bench`."""

from __future__ import annotations

import sys

from burn.tools.benchmark.cli import main

if __name__ == "__main__":
    sys.exit(main())
