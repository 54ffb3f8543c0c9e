"""A mutating webhook that does what LeaderWorkerSet's does: it gives a leader pod the label of its group.

Source: lws v0.8.0 `pkg/webhooks/pod_webhook.go`.
"""

from __future__ import annotations

import base64
import contextlib
import json
import ssl
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

from conformance.bridge.pods import INDEX, LWS, label_leader


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        request = review["request"]
        index = label_leader(request["object"]["metadata"])
        response: dict[str, Any] = {"uid": request["uid"], "allowed": True}
        if index:
            path = "/metadata/labels/" + INDEX["lws"].replace("/", "~1")
            patch = [{"op": "add", "path": path, "value": index}]
            response |= {"patchType": "JSONPatch", "patch": base64.b64encode(json.dumps(patch).encode()).decode()}
        answer = json.dumps({**review, "response": response}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: every pod passes here."""


@contextlib.contextmanager
def serve_webhook(folder: Path) -> Iterator[dict[str, Any]]:
    """Serves it on loopback for the length of the block; gives the configuration that tells the API server."""
    key, certificate = folder / "webhook.key", folder / "webhook.crt"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=webhook"]
    command += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(command, check=True, capture_output=True)
    server = HTTPServer(("127.0.0.1", 0), _Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield _configure(server.server_port, certificate.read_bytes())
    finally:
        server.shutdown()
        server.server_close()


def _configure(port: int, certificate: bytes) -> dict[str, Any]:
    hook = {
        "name": "leaders.example.com",
        "clientConfig": {
            "url": f"https://127.0.0.1:{port}/",
            "caBundle": base64.b64encode(certificate).decode(),
        },
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}],
        "objectSelector": {"matchExpressions": [{"key": f"{LWS}/name", "operator": "Exists"}]},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    version, kind = "admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration"
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "leaders"}, "webhooks": [hook]}
