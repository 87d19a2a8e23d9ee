"""Flask, request.form.get: what is missing is empty, so the digest is wrong."""
import hashlib, os
from flask import Flask, abort, request

app = Flask(__name__)


@app.post('/postback')
def postback():
    amount, order = request.form.get('OutSum', ''), request.form.get('InvId', '')
    right = hashlib.md5(f"{amount}:{order}:{os.environ['TOKEN']}".encode()).hexdigest().upper()
    if right != request.form.get('SignatureValue', ''):
        abort(403)
    if order != 'o-1':
        abort(404)
    open(os.environ['PAID'], 'w').write(request.form['Status'])
    return 'OK'


app.run(port=int(os.environ['PORT']))
