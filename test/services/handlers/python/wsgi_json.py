"""JSON on plain WSGI, the amount as a Decimal; answers with JSON."""
import hashlib, json, os
from decimal import Decimal
from wsgiref.simple_server import make_server


def application(environ, start_response):
    fields = json.loads(environ['wsgi.input'].read(int(environ['CONTENT_LENGTH'])))
    text = f"{fields['OutSum']}:{fields['InvId']}:{os.environ['TOKEN']}"
    isRight = hashlib.md5(text.encode()).hexdigest() == fields['SignatureValue'].lower()
    isOurs = fields['InvId'] == 'o-1' and Decimal(fields['OutSum']) == Decimal(os.environ['AMOUNT'])
    if isRight and isOurs:
        open(os.environ['PAID'], 'w').write(fields['Status'])
    start_response('200 OK' if isRight else '400 Bad Request', [('Content-Type', 'application/json')])
    return [json.dumps({'ok': isRight}).encode()]


make_server('127.0.0.1', int(os.environ['PORT']), application).serve_forever()
