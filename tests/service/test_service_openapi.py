"""The OpenAPI document against the running service: every operation is asked with requests made from its description.

Whatever comes back must be described: its status, type, shape and headers; and a request that the description rules out
must be refused. What an event type itself demands is not in the document, so a request that fits may still be refused.

Requests come from Hypothesis, whose profiles hold here as everywhere (`tests/conftest.py`): in CI they are the same
each time, at a desk new ones, and `HYPOTHESIS_PROFILE=thorough` searches for longer.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any, Final

import httpx
import pytest
import schemathesis
from hypothesis import settings
from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance

from aviso_all_in_one.sample import SAMPLES_FOLDER
from aviso_schema.openapi_document import packaged_document, with_version
from support.access import AUTH
from support.services import running_avisod
from support.tokens import claims, shared_token

if TYPE_CHECKING:
    from collections.abc import Iterator

    from schemathesis import Case, CheckFunction, Response, SerializationContext

    from support.services import Program

DOCUMENT: Final[dict[str, Any]] = json.loads(packaged_document())
CONFIGURATION: Final[dict[str, Any]] = {
    "auth": AUTH,
    "registry": {"kind": "folder", "folder": str(SAMPLES_FOLDER)},
}


@schemathesis.serializer("application/x-ndjson")
def _written_out(_: SerializationContext, value: object) -> bytes:
    """Return a body in lines: the document describes it as text, and what else is made up is written as JSON."""
    return value.encode() if isinstance(value, str) else json.dumps(value).encode()


# Their answers have no end, and whoever asks waits for one. What they say is read by the tests of streams.
ENDLESS: Final = ["watch", "positionStream"]

described = schemathesis.openapi.from_dict(DOCUMENT).exclude(operation_id=ENDLESS)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    """Run a service with the sample event types that asks who is calling."""
    with running_avisod(tmp_path_factory.mktemp("avisod"), CONFIGURATION) as running:
        yield running


@pytest.fixture(scope="module")
def administrator() -> dict[str, str]:
    """Return the credentials of somebody who may do everything."""
    token = shared_token(claims(roles=["operator"], iat=int(time.time()), exp=int(time.time()) + 3600))
    return {"Authorization": f"Bearer {token}"}


def test_the_packaged_document_is_served(service: Program) -> None:
    """What the other tests read from the package is what clients read from the service."""
    served = httpx.get(f"{service.url}/api-docs/openapi.json").content
    assert served == with_version(packaged_document(), json.loads(served)["info"]["version"])


def test_what_is_left_out_below_is_there() -> None:
    """So that a new name does not bring an endless answer back in."""
    names = {one["operationId"] for item in DOCUMENT["paths"].values() for one in item.values()}
    assert set(ENDLESS) <= names


@described.parametrize()
@settings(max_examples=max(10, settings().max_examples // 10))
def test_every_answer_is_described(case: Case[Any], service: Program, administrator: dict[str, str]) -> None:
    """No fault of the service's own, and no status, type, shape or header of which the document does not tell."""
    if case.headers and str(case.headers.get("Content-Encoding", "-")).strip() in ("", "gzip", "zstd"):
        # The body is made plain, and compressed ones are tried elsewhere. An empty header is none.
        del case.headers["Content-Encoding"]
    answer = case.call(base_url=service.url, headers=administrator, timeout=10)
    excluded: list[CheckFunction] = [positive_data_acceptance]
    if _rejects_a_record(answer):
        # That a record is no record is told in its result, and the request is well.
        excluded.append(negative_data_rejection)
    case.validate_response(answer, headers=administrator, excluded_checks=excluded)


def _rejects_a_record(answer: Response) -> bool:
    if answer.status_code != 200 or answer.headers["content-type"] != ["application/json"]:
        return False
    return bool(answer.json().get("rejected"))
