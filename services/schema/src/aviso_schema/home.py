"""The home page: a file with a few placeholders, in a folder of the installation or in our own.

The contract names one folder and says what is answered when its `index.html` is missing. That holds for a folder that
somebody configured. The folder that nobody chose, the default, belongs to an image of the reference and is usually not
there; then our own pages take its place.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from aviso_core.settings.model import Application

if TYPE_CHECKING:
    from collections.abc import Mapping

PAGES: Final = Path(__file__).parent / "pages"
INDEX: Final = "index.html"
MISSING: Final = b"<h1>Index file not found</h1><p>Please check the static files configuration.</p>"

_DEFAULT_FOLDER: Final = Application(host="", port=0).static_files_path
_ESCAPES: Final = str.maketrans({"&": "&amp;", '"': "&quot;", "'": "&#39;", "<": "&lt;", ">": "&gt;"})
_PLACEHOLDER: Final = re.compile(rb"\{\{([A-Z_]+)\}\}")


def static_folder(application: Application) -> Path:
    """Return the folder of the home page and of `/static`."""
    configured = Path(application.static_files_path)
    if application.static_files_path == _DEFAULT_FOLDER and not (configured / INDEX).is_file():
        return PAGES / "home"
    return configured


def is_our_own(folder: Path) -> bool:
    """Tell whether these are the pages that come with the service, of which is known what they load."""
    return folder.is_relative_to(PAGES)


def placeholders(application: Application, version: str) -> Mapping[bytes, bytes]:
    """Return the texts of the placeholders, fit for HTML."""
    links = application.homepage
    texts = {
        "SERVER_VERSION": version,
        "CLIENT_DOCUMENTATION_URL": links.client_documentation_url,
        "CLIENT_REPOSITORY_URL": links.client_repository_url,
        "SERVER_DOCUMENTATION_URL": links.server_documentation_url,
        "SERVER_REPOSITORY_URL": links.server_repository_url,
    }
    return {name.encode(): text.translate(_ESCAPES).encode() for name, text in texts.items()}


def fill(template: bytes, texts: Mapping[bytes, bytes]) -> bytes:
    """Put the texts in. What was put in is not looked at again, and what is no placeholder stays."""
    return _PLACEHOLDER.sub(lambda match: texts.get(match[1], match[0]), template)
