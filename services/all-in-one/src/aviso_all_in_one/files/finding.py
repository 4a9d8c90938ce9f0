"""One fault of a file, with the line where it stands as far as that can be told."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from aviso_core.errors import Fault


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """A fault: the file as the user called it, the line, the path inside, what is wrong, what to do."""

    file: str
    line: int | None = None
    path: str = ""
    message: str
    remedy: str = ""

    @property
    def place(self) -> str:
        """File and line, as editors and terminals understand them."""
        return self.file if self.line is None else f"{self.file}:{self.line}"


def found(fault: Fault, *, file: str, line: int | None) -> Finding:
    """Return a fault as the finding of a file."""
    return Finding(file=file, line=line, path=fault.path, message=fault.message, remedy=fault.remedy)
