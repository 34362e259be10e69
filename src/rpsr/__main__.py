"""`python -m rpsr`."""

import sys

from rpsr.cli.app import main

sys.exit(main())
