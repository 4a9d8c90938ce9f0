"""What a client sees when a request meets a bug of ours: an answer of the contract, and nothing of the bug itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NoReturn

from aviso_all_in_one.serving import assemble
from support.event_logs import asynchronous
from support.services import running_service

if TYPE_CHECKING:
    import pytest

    from aviso_http.process import Process, Routes

NUMBERED: Final = {"n": {"type": "IntHandler", "required": True}}
CONFIGURATION: Final[dict[str, Any]] = {
    "notification_schema": {
        "guarded": {
            "topic": {"base": "guarded", "key_order": ["n"]},
            "identifier": NUMBERED,
            "auth": {"required": False},
        },
        "free": {"topic": {"base": "free", "key_order": ["n"]}, "identifier": NUMBERED},
    }
}


class Broken:
    """Access with a bug in it."""

    challenges = ()

    def may_write(self, *_: object) -> NoReturn:
        """Fail in a way that nobody foresaw."""
        raise ZeroDivisionError("internals")


def with_a_bug(process: Process) -> Routes:
    """Return the routes of a service that cannot tell who may write."""
    return assemble(process._replace(access=Broken()))  # type: ignore[arg-type]


@asynchronous
async def test_a_bug_ends_one_request_and_is_told_to_the_log_alone(capfd: pytest.CaptureFixture[str]) -> None:
    async with running_service(CONFIGURATION, assembled=with_a_bug) as service:
        answer = await service.notify({"event_type": "guarded", "identifier": {"n": 1}})
        after = await service.notify({"event_type": "free", "identifier": {"n": 1}})
    assert answer.status == 500
    assert answer.json == {
        "code": "NOTIFICATION_PROCESSING_FAILED",
        "error": "Notification Processing Failed",
        "message": "The notification could not be processed, and nothing is stored",
        "details": "The service's log has the reason under this request id",
        "request_id": answer.headers["x-request-id"],
    }
    assert after.status == 200
    told = capfd.readouterr().out
    assert "ZeroDivisionError: internals" in told
    assert answer.json["request_id"] in told
