"""One kept-alive HTTPS connection to a local API server: a request goes out, status and JSON come back.

Must not know kinds, records or rules.
"""

from __future__ import annotations

import http.client
import json
import ssl
from typing import Any, NamedTuple
from urllib.parse import urlencode

# No body at all; None is the JSON null.
NOTHING = object()


class NoAnswer(ConnectionError):
    """The server is not there, or hung up twice."""


class Answer(NamedTuple):
    """`body` is the decoded JSON, or the text when it is none; `warnings` are the texts of Warning headers."""

    status: int
    body: Any
    warnings: list[str]

    @property
    def accepted(self) -> bool:
        return 200 <= self.status < 300


class Client:
    """Talks to 127.0.0.1 with one bearer token and believes any certificate: the server made it itself."""

    def __init__(self, port: int, token: str) -> None:
        self.port, self.token = port, token
        self.trust = ssl.create_default_context()
        self.trust.check_hostname = False
        self.trust.verify_mode = ssl.CERT_NONE
        self.connection: http.client.HTTPSConnection | None = None

    def get(self, path: str) -> Answer:
        return self.send("GET", path)

    def delete(self, path: str, **query: str) -> Answer:
        return self.send("DELETE", path, NOTHING, query)

    def post(self, path: str, body: object, **query: str) -> Answer:
        return self.send("POST", path, body, query)

    def put(self, path: str, body: object, **query: str) -> Answer:
        return self.send("PUT", path, body, query)

    def patch(self, path: str, body: object, kind: str, **query: str) -> Answer:
        """`kind` is the content type of the patch, such as application/apply-patch+yaml."""
        return self.send("PATCH", path, body, query, kind)

    def send(
        self,
        method: str,
        path: str,
        body: object = NOTHING,
        query: dict[str, str] | None = None,
        content_type: str = "application/json",
    ) -> Answer:
        """`body` is a JSON value, or bytes that are sent as they are. Raises NoAnswer."""
        target = f"{path}?{urlencode(query)}" if query else path
        data = None if body is NOTHING else encode_body(body)
        headers = {"Authorization": f"Bearer {self.token}", "Accept": "application/json", "Content-Type": content_type}
        for attempt in (1, 2):
            try:
                if self.connection is None:
                    self.connection = http.client.HTTPSConnection(
                        "127.0.0.1", self.port, context=self.trust, timeout=60
                    )
                self.connection.request(method, target, data, headers)
                response = self.connection.getresponse()
                return read_answer(response)
            except (OSError, http.client.HTTPException) as problem:
                self.close()
                if attempt == 2:
                    raise NoAnswer(str(problem)) from problem
        raise AssertionError("unreachable")

    def close(self) -> None:
        if self.connection is not None:
            self.connection.close()
            self.connection = None


def encode_body(body: object) -> bytes:
    if isinstance(body, bytes):
        return body
    return json.dumps(body, ensure_ascii=False).encode("utf-8", "surrogatepass")


def read_answer(response: http.client.HTTPResponse) -> Answer:
    text = response.read().decode("utf-8", "replace")
    warnings = [read_warning(value) for name, value in response.getheaders() if name.lower() == "warning"]
    try:
        return Answer(response.status, json.loads(text), warnings)
    except ValueError:
        return Answer(response.status, text, warnings)


def read_warning(header: str) -> str:
    """The text of `299 - "text"`."""
    quoted = header.split('"', 1)[1].rsplit('"', 1)[0]
    return quoted.replace('\\"', '"').replace("\\\\", "\\")
