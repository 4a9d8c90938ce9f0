"""`python -m aviso_operator.crd FILE` writes the definition; a chart and `kubectl apply` take it as it is."""

from __future__ import annotations

import sys
from pathlib import Path

from aviso_operator.crd.definition import definition_text

if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(definition_text(), encoding="utf-8")
