"""Who we are to the service: a token from the environment or from a mounted file, read where a request is made.

A token is never an option, because options travel through plans, catalogs and pickles. What is pickled here is at most
the path of a file: each process looks for itself, so a token that was rotated is taken up without a restart.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pyspark_aviso.options import OptionError

if TYPE_CHECKING:
    from collections.abc import Mapping

TOKEN_VARIABLE: Final = "AVISO_TOKEN"  # noqa: S105 (the name of a variable)
FILE_VARIABLE: Final = "AVISO_TOKEN_FILE"
_VISIBLE: Final = re.compile(r"[!-~]*")


class Credentials:
    """The token of this process, if it has one. A file goes before the environment, as it can be rotated."""

    def __init__(self, token_file: str | None = None) -> None:
        self._token_file = token_file
        self._seen: tuple[int, int, int] | None = None
        self._token = ""

    def __repr__(self) -> str:
        return f"Credentials(token_file={self._token_file!r})"

    def __reduce__(self) -> tuple[type[Credentials], tuple[str | None]]:
        return Credentials, (self._token_file,)

    def headers(self, environ: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return what a request says about who sends it; nothing where there is no token."""
        token = self._read(os.environ if environ is None else environ)
        return {"Authorization": f"Bearer {token}"} if token else {}

    def _read(self, environ: Mapping[str, str]) -> str:
        file = self._token_file or environ.get(FILE_VARIABLE)
        if not file:
            return _checked(environ.get(TOKEN_VARIABLE, ""), f"the variable {TOKEN_VARIABLE}")
        path = Path(file)
        # A mounted secret is replaced by another file, so its number changes even where its time does not.
        try:
            status = path.stat()
            now = (status.st_ino, status.st_mtime_ns, status.st_size)
            if now == self._seen:
                return self._token
            data = path.read_bytes()
        except OSError as error:
            raise OptionError(
                f"the token file '{file}' cannot be read ({error.strerror}): it is named by option 'tokenFile' or by "
                f"{FILE_VARIABLE}, and must be there wherever requests are made, on executors as well"
            ) from error
        self._token = _checked(data.decode("latin-1"), f"the token file '{file}'")
        self._seen = now
        return self._token


def _checked(text: str, where: str) -> str:
    """Return the token of a text. What is none is refused here: the errors of an HTTP client would show it."""
    token = text.strip()
    if _VISIBLE.fullmatch(token) is None:
        raise OptionError(
            f"{where} does not hold a token, which is one line of visible ASCII characters: write the token alone into "
            "it, without comments, quotes or further lines"
        )
    return token
