"""Flask, request.form: a missing field is 400 with a page."""
import hashlib, os
from flask import Flask, abort, request

app = Flask(__name__)


@app.post('/postback')
def postback():
    text = f"{request.form['OutSum']}:{request.form['InvId']}:{os.environ['TOKEN']}"
    if hashlib.md5(text.encode()).hexdigest().upper() != request.form['SignatureValue'].upper():
        abort(400, 'bad sign')
    if request.form['InvId'] == 'o-1':
        open(os.environ['PAID'], 'w').write(request.form['Status'])
    return 'OK'


app.run(port=int(os.environ['PORT']))
