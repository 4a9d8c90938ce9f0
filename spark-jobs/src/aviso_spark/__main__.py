"""`python -m aviso_spark`, and the command `aviso-spark`."""

from __future__ import annotations

import sys

from aviso_spark.command import main

if __name__ == "__main__":
    sys.exit(main())
