"""The survey of repositories counts what krmfn and a server say differently."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from conformance.client import Answer, Client
from conformance.repositories import report, survey_repository

MANIFESTS = """\
apiVersion: v1
kind: Service
metadata:
  name: NAME
spec:
  ports:
  - port: PORT
"""


class Server(Client):
    """A server that has Services alone, and refuses what it is told to."""

    def __init__(self, refused: str) -> None:
        self.refused = refused
        self.asked: list[tuple[str, Any]] = []

    def send(self, method: str, path: str, body: object = None, *_: object) -> Answer:
        if path == "/apis":
            return Answer(200, {"groups": []}, [])
        if path == "/api/v1":
            return Answer(200, {"resources": [{"name": "services", "kind": "Service", "namespaced": True}]}, [])
        self.asked.append((path, body))
        code = 422 if isinstance(body, dict) and body["metadata"]["name"] == self.refused else 201
        return Answer(code, {"message": "no"}, [])


@pytest.mark.parametrize(
    ("name", "port", "refused", "told"),
    [
        ("good", "80", "", ""),
        ("bad", "x", "bad", ""),
        ("bad", "x", "", "false alarm: repository/a.yaml:1: Service bad: wrong-type"),
        ("odd", "80", "odd", "miss: repository/a.yaml:1: Service odd: 422 no"),
        ("unknown", "${PORT}", "unknown", ""),
        ("${NAME}", "80", "${NAME}", ""),
    ],
)
def test_disagreements(name: str, port: str, refused: str, told: str, tmp_path: Path) -> None:
    folder = tmp_path / "repository"
    folder.mkdir()
    (folder / "a.yaml").write_text(MANIFESTS.replace("NAME", name).replace("PORT", port))
    server = Server(refused)
    survey = survey_repository(str(folder), server)
    lines = [line for line in report([survey]) if line.startswith("* ")]
    assert [line.startswith(f"* {told}") for line in lines] == [True] * bool(told)
    assert (survey.objects, survey.asked) == (1, len(server.asked)) == (1, 0 if "$" in name else 1)


def test_a_key_that_is_there_twice_is_sent_as_text(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(MANIFESTS.replace("NAME", "web").replace("PORT", "80") + "kind: Service\n")
    server = Server("")
    assert survey_repository(str(tmp_path), server).disagreements
    assert [path for path, body in server.asked if isinstance(body, bytes)] == ["/api/v1/namespaces/default/services"]
