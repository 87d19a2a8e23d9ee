import hashlib
import json
import os
from socketserver import ThreadingMixIn
from urllib.parse import parse_qsl
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server


def application(environ, start_response):
    def respond(status, text):
        start_response(status, [("Content-Type", "text/plain")])
        return [text.encode()]

    if environ["PATH_INFO"] != "/postback" or environ["REQUEST_METHOD"] != "POST":
        return respond("404 Not Found", "not found")

    if os.environ.get("FIXED"):
        raw = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
    else:
        raw = environ["wsgi.input"].read()

    if environ.get("CONTENT_TYPE", "").startswith("application/json"):
        note = json.loads(raw)
    else:
        note = dict(parse_qsl(raw.decode()))

    sign = hashlib.md5("{OutSum}:{InvId}:{token}".format(token=os.environ["TOKEN"], **note).encode())
    if sign.hexdigest().upper() != note["SignatureValue"]:
        return respond("403 Forbidden", "signature")
    if note["InvId"] != "o-1":
        return respond("404 Not Found", "no order")
    if note["OutSum"] != os.environ["AMOUNT"]:
        return respond("409 Conflict", "amount")
    with open(os.environ["PAID"], "w") as f:
        f.write(note["Status"])
    return respond("200 OK", "OK")


class Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class Handler(WSGIRequestHandler):
    timeout = 2  # do not let a slow client hold a thread


make_server("127.0.0.1", int(os.environ["PORT"]), application, Server, Handler).serve_forever()
