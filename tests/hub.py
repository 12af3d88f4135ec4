"""A stand-in for the Hugging Face hub on loopback: one repository, uploads by plain LFS."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self


@dataclass
class Hub:
    """What it was told and what it holds. `open_before`: the repository is there already, and public."""

    token: str
    open_before: bool = False
    private: bool | None = None
    objects: dict[str, bytes] = field(default_factory=dict)
    """LFS contents by sha256."""
    files: dict[str, bytes] = field(default_factory=dict)
    """Of the last commit."""
    commits: int = 0
    refused: int = 0
    paths: list[str] = field(default_factory=list)

    def __enter__(self) -> Self:
        hub = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *args: object) -> None:
                pass

            def do_GET(self) -> None:
                hub.answer(self, b"")

            def do_POST(self) -> None:
                hub.answer(self, self.rfile.read(int(self.headers.get("Content-Length", 0))))

            def do_PUT(self) -> None:
                self.do_POST()

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.server.shutdown()
        self.server.server_close()

    def answer(self, request: BaseHTTPRequestHandler, body: bytes) -> None:
        path = request.path.partition("?")[0]
        self.paths.append(path)
        if path.startswith("/object/"):
            self.objects[path.rpartition("/")[2]] = body
            told: Any = {}
        elif request.headers.get("Authorization") != f"Bearer {self.token}":
            self.refused += 1
            self._send(
                request, 401, {"error": f"Invalid token {request.headers.get('Authorization')}"}
            )
            return
        else:
            told = self._told(path, body)
        self._send(request, 200, told)

    def _told(self, path: str, body: bytes) -> Any:
        if path == "/api/repos/create":
            asked = json.loads(body)
            asked_private = asked.get("private") or asked.get("visibility") == "private"
            self.private = bool(asked_private) and not self.open_before
            name = "/".join(filter(None, (asked.get("organization"), asked["name"])))
            return {"url": f"{self.url}/{name}"}
        if path == "/api/validate-yaml":
            return {"errors": [], "warnings": []}
        if "/preupload/" in path:
            return {
                "files": [
                    {
                        "path": file["path"],
                        "uploadMode": "lfs" if file["path"].endswith(".safetensors") else "regular",
                        "shouldIgnore": False,
                    }
                    for file in json.loads(body)["files"]
                ]
            }
        if path.endswith("/info/lfs/objects/batch"):
            return {
                "transfer": "basic",
                "objects": [self._object(o) for o in json.loads(body)["objects"]],
            }
        if "/commit/" in path:
            self._commit(body)
            return {"commitUrl": f"{self.url}/org/x/commit/{'a' * 40}", "commitOid": "a" * 40}
        if path.startswith("/api/models/"):
            return {"id": path.removeprefix("/api/models/"), "private": self.private}
        raise AssertionError(f"the hub was asked for {path}")

    def _object(self, asked: dict[str, Any]) -> dict[str, Any]:
        return {**asked, "actions": {"upload": {"href": f"{self.url}/object/{asked['oid']}"}}}

    def _commit(self, body: bytes) -> None:
        self.files = {}
        for line in map(json.loads, body.splitlines()):
            value = line["value"]
            if line["key"] == "file":
                self.files[value["path"]] = base64.b64decode(value["content"])
            elif line["key"] == "lfsFile":
                content = self.objects[value["oid"]]
                assert hashlib.sha256(content).hexdigest() == value["oid"]
                self.files[value["path"]] = content
        self.commits += 1

    @staticmethod
    def _send(request: BaseHTTPRequestHandler, status: int, told: Any) -> None:
        data = json.dumps(told).encode()
        request.send_response(status)
        request.send_header("Content-Type", "application/json")
        request.send_header("Content-Length", str(len(data)))
        request.end_headers()
        request.wfile.write(data)
