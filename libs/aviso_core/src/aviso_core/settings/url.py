"""Addresses in the configuration, taken apart as far as the rules about them ask.

The rules come from a server that reads addresses as browsers do, which mend much; here what would need mending is no
address. Python's own splitting is no help: it drops tabs and line ends in silence, takes nearly anything for a host,
and does not tell an empty query from none.
"""

from __future__ import annotations

import re
from ipaddress import AddressValueError, IPv6Address
from typing import Final

import msgspec

_URL: Final = re.compile(
    r"""
    (?P<scheme> [a-z][a-z0-9+.-]* ) :
    (?: //
        (?: (?P<credentials> [^/?\#]* ) @ )?
        (?P<host> \[ [0-9a-f:.]+ \] | [^\x00-\x20\x7f\s\#%/:<>?@\[\\\]^`{|}]* )
        (?: : (?P<port> [0-9]{0,5} ) )?
        (?= [/?\#] | \Z )
    | (?! // ) )
    (?P<path> [^?\#]* )
    (?P<query> \? [^\#]* )?
    (?P<fragment> \# .* )?
    """,
    re.VERBOSE | re.IGNORECASE | re.ASCII,
)
_BLANK_OR_CONTROL: Final = re.compile(r"[\s\x00-\x1f\x7f\\]")
# Schemes whose addresses mean nothing without a host.
_HOSTED: Final = frozenset({"http", "https", "ws", "wss", "ftp"})
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})


class Url(msgspec.Struct, frozen=True, kw_only=True):
    """An absolute address, its scheme and host in lower case. The host is empty where there is none."""

    scheme: str
    host: str
    path: str
    has_credentials: bool
    has_query: bool
    has_fragment: bool

    @property
    def is_web(self) -> bool:
        """Whether a browser could follow it."""
        return self.scheme in ("http", "https")

    @property
    def is_loopback(self) -> bool:
        """Whether the host is this machine by its own names, so that nobody else reads what is sent."""
        return self.host in _LOOPBACK


def parse_url(text: str) -> Url | None:
    """Return the parts of an absolute address, or None if the text is none."""
    match = None if _BLANK_OR_CONTROL.search(text) else _URL.fullmatch(text)
    if match is None:
        return None
    scheme, host = match["scheme"].lower(), (match["host"] or "").lower()
    if not _host_fits(scheme, host) or int(match["port"] or 0) > 65_535:
        return None
    return Url(
        scheme=scheme,
        host=host,
        path=match["path"],
        has_credentials=bool((match["credentials"] or "").strip(":")),
        has_query=match["query"] is not None,
        has_fragment=match["fragment"] is not None,
    )


def _host_fits(scheme: str, host: str) -> bool:
    if not host.startswith("["):
        return bool(host) or scheme not in _HOSTED
    try:
        IPv6Address(host[1:-1])
    except AddressValueError:
        return False
    return True
