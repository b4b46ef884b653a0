/** Code that checks a signature (Standard Webhooks), without a library. A test runs it against real deliveries. */
export const samples: readonly { language: string; code: string }[] = [
  {
    language: 'Node.js',
    code: `import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';

// headers: with lower-case names; body: the bytes as they came
function verify(headers, body, secret) {
  const { 'webhook-id': id = '', 'webhook-timestamp': time = '', 'webhook-signature': sent = '' } = headers;
  if (!(Math.abs(Date.now() / 1000 - Number(time)) <= 300)) return false;
  const key = Buffer.from(secret.replace('whsec_', ''), 'base64');
  const digest = createHmac('sha256', key).update(id + '.' + time + '.').update(body).digest('base64');
  const expected = Buffer.from('v1,' + digest);
  return sent.split(' ').map((one) => Buffer.from(one))
    .some((one) => one.length === expected.length && timingSafeEqual(one, expected));
}

createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const body = Buffer.concat(chunks);
  if (!verify(request.headers, body, process.env.WEBHOOK_SECRET)) return response.writeHead(401).end();
  const event = JSON.parse(body);
  response.writeHead(200).end();
}).listen(Number(process.env.PORT ?? 3000));
`,
  },
  {
    language: 'Python',
    code: `import base64, hashlib, hmac, json, os, time
from http.server import BaseHTTPRequestHandler, HTTPServer

def verify(headers, body, secret):
    message_id, sent_at = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not sent_at.isdigit() or abs(time.time() - int(sent_at)) > 300:
        return False
    key = base64.b64decode(secret.removeprefix("whsec_"))
    digest = hmac.new(key, f"{message_id}.{sent_at}.".encode() + body, hashlib.sha256).digest()
    expected = "v1," + base64.b64encode(digest).decode()
    return any(hmac.compare_digest(one, expected) for one in headers.get("webhook-signature", "").split(" "))

class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        ok = verify(self.headers, body, os.environ["WEBHOOK_SECRET"])
        if ok:
            event = json.loads(body)
        self.send_response(200 if ok else 401)
        self.end_headers()

HTTPServer(("127.0.0.1", int(os.environ.get("PORT", "3000"))), Handler).serve_forever()
`,
  },
  {
    language: 'Go',
    code: `package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

func verify(header http.Header, body []byte, secret string) bool {
	id, sentAt := header.Get("webhook-id"), header.Get("webhook-timestamp")
	seconds, err := strconv.ParseInt(sentAt, 10, 64)
	if err != nil || time.Since(time.Unix(seconds, 0)).Abs() > 300*time.Second {
		return false
	}
	key, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + sentAt + "."))
	mac.Write(body)
	expected := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	for _, one := range strings.Split(header.Get("webhook-signature"), " ") {
		if hmac.Equal([]byte(one), []byte(expected)) {
			return true
		}
	}
	return false
}

func main() {
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 5<<20))
		if err != nil || !verify(r.Header, body, os.Getenv("WEBHOOK_SECRET")) {
			w.WriteHeader(http.StatusUnauthorized)
		}
	})
	http.ListenAndServe(":"+os.Getenv("PORT"), nil)
}
`,
  },
  {
    language: 'PHP',
    code: `<?php
$headers = array_change_key_case(getallheaders());
$body = file_get_contents('php://input');
$id = $headers['webhook-id'] ?? '';
$time = $headers['webhook-timestamp'] ?? '';
$key = base64_decode(preg_replace('/^whsec_/', '', getenv('WEBHOOK_SECRET')));
$expected = 'v1,' . base64_encode(hash_hmac('sha256', "$id.$time.$body", $key, true));
$isRecent = ctype_digit($time) && abs(time() - (int) $time) <= 300;
$sent = explode(' ', $headers['webhook-signature'] ?? '');
$isOurs = $isRecent && array_filter($sent, fn ($one) => hash_equals($expected, $one)) !== [];
http_response_code($isOurs ? 200 : 401);
if ($isOurs) {
    $event = json_decode($body, true);
}
`,
  },
  {
    language: 'Ruby',
    code: `require 'json'
require 'openssl'

# headers: a hash with lower-case names, or Rails' request.headers; body: request.raw_post
def verify(headers, body, secret)
  id, time, sent = %w[webhook-id webhook-timestamp webhook-signature].map { |name| headers[name].to_s }
  return false unless time.match?(/\\A[0-9]{1,12}\\z/) && (Time.now.to_i - time.to_i).abs <= 300

  key = secret.delete_prefix('whsec_').unpack1('m')
  digest = [OpenSSL::HMAC.digest('SHA256', key, "#{id}.#{time}.".b + body.b)].pack('m0')
  sent.split(' ').any? { |one| OpenSSL.secure_compare(one, "v1,#{digest}") }
end
`,
  },
];
