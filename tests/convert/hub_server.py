"""A Hugging Face hub on loopback: the few endpoints that `snapshot_download` uses, and connections that break."""

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@dataclass
class Hub:
    """One repository, and a record of what was asked for it.

    ``breaks`` maps a file to the number of bytes after which its next download ends, once. ``denied`` maps a path
    prefix to the status and error code (X-Error-Code) it is answered with.
    """

    repo: str
    files: dict[str, bytes]
    breaks: dict[str, int] = field(default_factory=dict)
    denied: dict[str, tuple[int, str]] = field(default_factory=dict)
    downloads: list[tuple[str, str | None]] = field(default_factory=list)  # file, Range header
    requests: list[str] = field(default_factory=list)
    url: str = ""


@contextmanager
def serve(hub: Hub) -> Iterator[Hub]:
    """Run the hub while inside; its ``url`` is what HF_ENDPOINT should be."""

    class Handler(_Handler):
        pass

    Handler.hub = hub
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    hub.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    hub: Hub
    protocol_version = "HTTP/1.1"

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def do_GET(self) -> None:
        self._answer(body=True)

    def _answer(self, *, body: bool) -> None:
        self.hub.requests.append(f"{self.command} {self.path}")
        for prefix, (status, code) in self.hub.denied.items():
            if self.path.startswith(prefix):
                return self._error(status, code)
        if self.path.startswith("/api/models/"):
            return self._info()
        repo, _, rest = self.path[1:].partition("/resolve/")
        revision, _, name = rest.partition("/")
        if repo != self.hub.repo or revision not in ("main", COMMIT) or name not in self.hub.files:
            return self._error(404, "EntryNotFound")
        return self._file(name, body=body)

    def _info(self) -> None:
        repo, _, revision = self.path.removeprefix("/api/models/").partition("/revision/")
        if repo != self.hub.repo:
            return self._error(401, "RepoNotFound")
        if revision not in ("main", COMMIT):
            return self._error(404, "RevisionNotFound")
        info = {"id": repo, "sha": COMMIT, "siblings": [{"rfilename": name} for name in self.hub.files]}
        content = json.dumps(info).encode()
        self._send(200, {"Content-Type": "application/json", "Content-Length": str(len(content))}, content)

    def _file(self, name: str, *, body: bool) -> None:
        content, wanted = self.hub.files[name], self.headers.get("Range")
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted else 0
        headers = {
            "ETag": f'"{hashlib.sha256(content).hexdigest()}"',
            "X-Repo-Commit": COMMIT,
            "Accept-Ranges": "bytes",
            "Content-Length": str(len(content) - start),
        }
        if wanted:
            headers["Content-Range"] = f"bytes {start}-{len(content) - 1}/{len(content)}"
        if body:
            self.hub.downloads.append((name, wanted))
        end = self.hub.breaks.pop(name, len(content)) if body else start
        self._send(206 if wanted else 200, headers, content[start:end])
        if body and end < len(content):
            self.close_connection = True

    def _error(self, status: int, code: str) -> None:
        self._send(status, {"X-Error-Code": code, "Content-Length": "0"}, b"")

    def _send(self, status: int, headers: dict[str, str], content: bytes) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing on stderr: tests read `Hub.requests`."""
