"""Form fields on the standard library's server: a missing one is an exception, and the connection closes without an answer."""
import hashlib, http.server, os, urllib.parse


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers['Content-Length'])).decode()
        fields = urllib.parse.parse_qs(body)
        amount, order, sign = (fields[name][0] for name in ('OutSum', 'InvId', 'SignatureValue'))
        right = hashlib.md5(f"{amount}:{order}:{os.environ['TOKEN']}".encode()).hexdigest().upper()
        if sign != right:
            return self.send_error(400, 'bad signature')
        if order == 'o-1':
            open(os.environ['PAID'], 'w').write(fields['Status'][0])
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'OK')


http.server.HTTPServer(('127.0.0.1', int(os.environ['PORT'])), Handler).serve_forever()
