"""Flask, request.get_json(); "OK" as text/html."""
import hashlib, os
from flask import Flask, abort, request

app = Flask(__name__)


@app.post('/postback')
def postback():
    fields = request.get_json()
    text = f"{fields['OutSum']}:{fields['InvId']}:{os.environ['TOKEN']}"
    if hashlib.md5(text.encode()).hexdigest().upper() != fields['SignatureValue'].upper():
        abort(400)
    if fields['InvId'] == 'o-1':
        open(os.environ['PAID'], 'w').write(fields['Status'])
    return 'OK'


app.run(port=int(os.environ['PORT']))
