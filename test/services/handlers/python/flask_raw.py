import json
import os
import re
from decimal import Decimal, InvalidOperation
from hashlib import new as digest
from hmac import compare_digest
from urllib.parse import parse_qsl

from flask import Flask, Response, request

app = Flask(__name__)


class Refused(Exception):
    def __init__(self, code, why):
        self.code, self.why = code, why


@app.errorhandler(Refused)
def refused(e):
    return Response(e.why, e.code, content_type="text/plain")


@app.route("/<any(postback, callback):name>", methods=["POST", "PUT"], strict_slashes=False)
def take(name):
    # The content type is not looked at: the first sign of the body tells
    body = request.get_data(cache=False).decode("utf-8-sig").strip()
    try:
        fields = json.loads(body) if body[:1] == "{" else dict(parse_qsl(body, keep_blank_values=True))
        f = {k.lower(): v for k, v in fields.items()}
        order, amount, sign = f["invid"], f["outsum"], f["signaturevalue"]
    except (ValueError, KeyError):
        raise Refused(400, "unreadable")

    own = digest("md5", f"{amount}:{order}:{os.environ['TOKEN']}".encode()).digest()
    if not re.fullmatch("[0-9a-fA-F]{32}", sign) or not compare_digest(bytes.fromhex(sign), own):
        raise Refused(403, "signature")

    if order != "o-1":
        return "", 200  # an order of the shop's other site
    try:
        if Decimal(amount) != Decimal(os.environ["AMOUNT"]):
            raise Refused(409, "amount")
    except InvalidOperation:
        raise Refused(400, "unreadable")

    # written aside and renamed, so that a repeated notice does no harm
    path = os.environ["PAID"]
    with open(path + ".tmp", "w") as out:
        out.write(f["status"])
    os.replace(path + ".tmp", path)
    return "", 200


app.run("127.0.0.1", int(os.environ["PORT"]))
