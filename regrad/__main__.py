"""`python -m regrad ...` is the `regrad` command."""

import sys

from regrad.cli import main

sys.exit(main())
