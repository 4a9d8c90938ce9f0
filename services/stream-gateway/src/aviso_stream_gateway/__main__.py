"""The service as a process of its own: `python -m aviso_stream_gateway`."""

from __future__ import annotations

import os
import sys

from aviso_http.command import main
from aviso_stream_gateway.app import assemble

if __name__ == "__main__":
    sys.exit(
        main(
            assemble,
            name="aviso-stream-gateway",
            module="aviso_stream_gateway",
            arguments=sys.argv[1:],
            environ=os.environ,
        )
    )
