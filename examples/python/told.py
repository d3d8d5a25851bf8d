import hashlib
import hmac
import json
from http.server import BaseHTTPRequestHandler, HTTPServer

SECRET = b"the secret of that callback in your settings"


class Told(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        signed = "sha256=" + hmac.new(SECRET, body, hashlib.sha256).hexdigest()
        known = hmac.compare_digest(signed, self.headers.get("X-Quandary-Signature", ""))
        self.send_response(204 if known else 403)
        self.end_headers()
        if known:
            told = json.loads(body)  # one that comes twice has the same id
            print(told["id"], told["event"], told["status"], flush=True)


HTTPServer(("127.0.0.1", 9000), Told).serve_forever()
