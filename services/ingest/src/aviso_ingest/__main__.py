"""The service as a process of its own: `python -m aviso_ingest`."""

from __future__ import annotations

import os
import sys

from aviso_http.command import main
from aviso_ingest.app import assemble

if __name__ == "__main__":
    sys.exit(
        main(
            assemble,
            name="aviso-ingest",
            module="aviso_ingest",
            arguments=sys.argv[1:],
            environ=os.environ,
        )
    )
