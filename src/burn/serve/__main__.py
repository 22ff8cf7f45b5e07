"""`python -m burn.serve` is the `furnace` command."""

import sys

from furnace.command import main

sys.exit(main())
