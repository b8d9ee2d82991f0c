"""`python -m speckv_debug`."""

import sys

from speckv_debug.cli import main

if __name__ == "__main__":
    sys.exit(main())
