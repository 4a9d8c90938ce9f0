"""The service as a process of its own: `python -m aviso_schema`."""

from __future__ import annotations

import os
import sys

from aviso_http.command import main
from aviso_schema.app import assemble

if __name__ == "__main__":
    sys.exit(
        main(
            assemble,
            name="aviso-schema",
            module="aviso_schema",
            arguments=sys.argv[1:],
            environ=os.environ,
        )
    )
