"""`python -m benches` is `burn-bench`, from a checkout."""

from __future__ import annotations

import sys

from burn_bench.cli import main

if __name__ == "__main__":
    sys.exit(main())
