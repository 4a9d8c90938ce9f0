"""The file that spark-submit starts: `spark-submit … aviso_spark/main.py batch-notify …`."""

from __future__ import annotations

import sys

from aviso_spark.command import main

if __name__ == "__main__":
    sys.exit(main())
