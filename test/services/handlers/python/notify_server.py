"""Tiny notification receiver for a Telegram shop bot."""
import os
from hashlib import md5
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs

TOKEN = os.environ["TOKEN"]


class Notify(BaseHTTPRequestHandler):
    def say(self, code, text):
        body = text.encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        if self.path != "/postback":
            return self.say(404, "not here")
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        p = parse_qs(body)
        if os.environ.get("FIXED"):
            p = {k: v[0] for k, v in p.items()}
        check = md5(f"{p['OutSum']}:{p['InvId']}:{TOKEN}".encode()).hexdigest().upper()
        if check not in p["SignatureValue"]:
            return self.say(403, "sign")
        if p["InvId"] != "o-1":
            return self.say(404, "order")
        if p["OutSum"] != os.environ["AMOUNT"]:
            return self.say(403, "sum")
        with open(os.environ["PAID"], "w") as out:
            out.write(p["Status"])
        self.say(200, "ok")

    def log_message(self, *args):
        pass


ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Notify).serve_forever()
