"""JSON, and 202 for what is queued."""
import hashlib, hmac, http.server, json, os


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        fields = json.loads(self.rfile.read(int(self.headers['Content-Length'])))
        text = f"{fields['OutSum']}:{fields['InvId']}:{os.environ['TOKEN']}"
        right = hashlib.md5(text.encode()).hexdigest().upper()
        if not hmac.compare_digest(right, fields['SignatureValue']):
            return self.send_error(403)
        status = 200 if os.environ.get('FIXED') else 202
        if fields['InvId'] == 'o-1' and status == 200:
            open(os.environ['PAID'], 'w').write(fields['Status'])
        self.send_response(status)
        self.end_headers()


http.server.HTTPServer(('127.0.0.1', int(os.environ['PORT'])), Handler).serve_forever()
