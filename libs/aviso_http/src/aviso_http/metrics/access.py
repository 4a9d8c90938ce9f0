"""Who was let in: outcomes of recognising callers, and what the ECPDS plugin does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aviso_http.metrics.series import counters, gauges

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from aviso_http.metrics.series import AnyFamily

_MODES: Final = ("direct", "trusted_proxy")
_OUTCOMES: Final = ("success", "unauthorized", "forbidden", "service_unavailable")
_DECISIONS: Final = (
    *("allow", "deny_destination", "deny_match_key_missing", "unavailable", "admin_bypass", "error"),
)
_FETCHES: Final = (
    *("success", "http_401", "http_403", "http_4xx", "http_5xx", "invalid_response", "unreachable"),
)


class AccessMetrics:
    """Recognised callers. All series begin at zero, those of the mode that is not configured as well."""

    def __init__(self) -> None:
        self._requests = counters(
            "aviso_auth_requests_total", "Callers by whether they were recognised.", "mode", "outcome"
        )
        for mode in _MODES:
            for outcome in _OUTCOMES:
                self._requests.of(mode, outcome)

    def counter(self, mode: str) -> Callable[[str], None]:
        """Return what counts an outcome in the configured mode."""
        series = {outcome: self._requests.of(mode, outcome) for outcome in _OUTCOMES}

        def count(outcome: str) -> None:
            series[outcome].add()

        return count

    def families(self) -> Iterator[AnyFamily]:
        """Yield what is counted."""
        yield self._requests


class EcpdsMetrics:
    """The plugin's decisions, and the cache that spares its servers."""

    def __init__(self) -> None:
        self._hits = counters("aviso_ecpds_cache_hits_total", "Users whose destinations were remembered.")
        self._misses = counters("aviso_ecpds_cache_misses_total", "Users whose destinations were asked for.")
        self._size = gauges("aviso_ecpds_cache_size", "Users whose destinations are remembered.")
        self._decisions = counters(
            "aviso_ecpds_access_decisions_total", "Decisions by their outcome.", "outcome"
        )
        self._fetches = counters("aviso_ecpds_fetch_total", "Questions to the servers by outcome.", "outcome")
        self._hit, self._miss, self._users = self._hits.of(), self._misses.of(), self._size.of()
        self._decided = {outcome: self._decisions.of(outcome) for outcome in _DECISIONS}
        self._fetched = {outcome: self._fetches.of(outcome) for outcome in _FETCHES}

    def hit(self) -> None:
        """Count a user who was found in the cache."""
        self._hit.add()

    def miss(self) -> None:
        """Count a user who was not."""
        self._miss.add()

    def size(self, users: int) -> None:
        """Say how many users are in the cache now."""
        self._users.value = users

    def decided(self, outcome: str) -> None:
        """Count a decision."""
        self._decided[outcome].add()

    def fetched(self, outcome: str) -> None:
        """Count a question to the servers about one user."""
        self._fetched[outcome].add()

    def families(self) -> Iterator[AnyFamily]:
        """Yield what is counted."""
        yield self._hits
        yield self._misses
        yield self._size
        yield self._decisions
        yield self._fetches
