"""What the API says about itself is true: thousands of requests, right and wrong, say so too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import load_all_checks
from schemathesis.generation import GenerationMode
from schemathesis.python.asgi import HOST

from sites import TOKEN, Site

if TYPE_CHECKING:
    from collections.abc import Iterator

load_all_checks()
CHECKS = schemathesis.checks.CHECKS.get_by_names(
    [
        "not_a_server_error",
        "status_code_conformance",
        "content_type_conformance",
        "response_schema_conformance",
        "response_headers_conformance",
        "negative_data_rejection",
        "unsupported_method",
    ]
)
WAYS = (
    ("GET", "/api/inbox"),
    ("GET", "/api/runs"),
    ("GET", "/api/runs/{run}"),
    ("GET", "/api/runs/{run}/read"),
    ("POST", "/api/asks"),
    ("POST", "/api/runs/{run}/reply"),
    ("POST", "/api/runs/{run}/withdraw"),
)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Site, Any]]:
    """A server with a few runs, and its description."""
    folder = tmp_path_factory.mktemp("project")
    (folder / ".quandary").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("XDG_CONFIG_HOME", str(folder))
        site = Site(folder, hosts=frozenset({HOST}))
        schema = schemathesis.openapi.from_asgi("/api/openapi.json", site.app)
        yield site, schema
        site.store.close()


@pytest.mark.parametrize(
    "mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE], ids=lambda m: m.value
)
@pytest.mark.parametrize(("method", "path"), WAYS)
def test_every_answer_is_as_described(
    served: tuple[Site, Any], method: str, path: str, mode: GenerationMode
) -> None:
    """Its status, its headers and its body; and what does not fit is refused."""
    site, schema = served
    runs = [site.ask("Login", "Cache").run for _ in range(3)]
    waits = "wait"

    @settings(
        max_examples=15,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=schema[path][method].as_strategy(generation_mode=mode))
    def sent(case: Any) -> None:  # noqa: ANN401 - Schemathesis's own
        if "run" in (case.path_parameters or {}) and mode is GenerationMode.POSITIVE:
            case.path_parameters["run"] = runs[len(str(case.body)) % len(runs)]
        if isinstance(case.query, dict) and isinstance(case.query.get(waits), int | float):
            case.query[waits] = min(case.query[waits], 0.01) if case.query[waits] >= 0 else -1
        answer = case.call(headers={"Authorization": f"Bearer {TOKEN}"})
        too_large = answer.status_code == 413  # which is a refusal, and looks no further
        checks = [c for c in CHECKS if not (too_large and c.__name__ == "negative_data_rejection")]
        case.validate_response(answer, checks=checks)

    sent()
