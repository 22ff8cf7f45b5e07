"""`python -m furnace` is the `furnace` command."""

import sys

from furnace.command import main

sys.exit(main())
