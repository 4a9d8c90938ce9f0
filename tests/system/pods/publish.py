"""Posts numbered notifications, at a steady rate, until each was accepted; prints what became of them.

    publish.py URL EVENT_TYPE --first 0 --count 100 --rate 20 [--identifier '{"region": "north"}']

Runs in a pod, with nothing but Python. Each notification has a key of its own, so that one whose answer was lost may be
posted again. Where `AVISO_TOKEN_FILE` names a file, what it holds is shown to the service.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import sys
import time
import uuid
from pathlib import Path
from urllib.parse import urlsplit

_PATIENCE_SECONDS = 120.0
_BETWEEN_TRIES_SECONDS = 0.2
_ANSWER_SECONDS = 15.0
_PASSING = {429, 500, 502, 503, 504}


class Poster:
    """A connection to the service that is made anew when it breaks."""

    def __init__(self, url: str) -> None:
        self._place = urlsplit(url)
        self._connection: http.client.HTTPConnection | None = None

    def post(self, body: bytes, key: str) -> tuple[int, str]:
        """Post once; status 0 says that no answer came."""
        headers = {"Content-Type": "application/json", "Idempotency-Key": key, **_authorization()}
        try:
            connection = self._connection or self._connect()
            connection.request("POST", "/api/v1/notification", body, headers)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        except (OSError, http.client.HTTPException) as fault:
            if self._connection is not None:
                self._connection.close()
            self._connection = None
            return 0, repr(fault)

    def _connect(self) -> http.client.HTTPConnection:
        host, port = self._place.hostname, self._place.port or 80
        assert host is not None
        self._connection = http.client.HTTPConnection(host, port, timeout=_ANSWER_SECONDS)
        return self._connection


def main() -> int:
    """Post all; fail where one is refused, or was not accepted in time."""
    asked = _arguments()
    poster, run = Poster(asked.url), uuid.uuid4().hex
    accepted: list[int] = []
    again = 0
    begun = time.monotonic()
    for number in range(asked.first, asked.first + asked.count):
        _wait_until(begun + len(accepted) / asked.rate)
        notification = {
            "event_type": asked.event_type,
            "identifier": asked.identifier,
            "payload": {"number": number},
        }
        body, give_up = json.dumps(notification).encode(), time.monotonic() + _PATIENCE_SECONDS
        while True:
            status, text = poster.post(body, f"{run}-{number}")
            if status == 200:
                break
            if (status and status not in _PASSING) or time.monotonic() > give_up:
                print(json.dumps({"accepted": accepted, "again": again, "refused": [number, status, text]}))
                return 1
            again += 1
            time.sleep(_BETWEEN_TRIES_SECONDS)
        accepted.append(number)
    print(json.dumps({"accepted": accepted, "again": again, "seconds": time.monotonic() - begun}))
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("event_type")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, required=True)
    parser.add_argument("--rate", type=float, default=50.0)
    parser.add_argument("--identifier", type=json.loads, default={"region": "north", "severity": "1"})
    return parser.parse_args()


def _authorization() -> dict[str, str]:
    file = os.environ.get("AVISO_TOKEN_FILE")
    return {"Authorization": f"Bearer {Path(file).read_text().strip()}"} if file else {}


def _wait_until(moment: float) -> None:
    if (left := moment - time.monotonic()) > 0:
        time.sleep(left)


if __name__ == "__main__":
    sys.exit(main())
