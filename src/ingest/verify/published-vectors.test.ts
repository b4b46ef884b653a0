// Vectors that the providers and the RFCs publish. They reveal a mistake in our understanding of a scheme.
import { describe, expect, it } from 'vitest';
import { signatureHashes } from '../../domain/config/signature-hash.ts';
import type { IngestRequest } from '../request/ingest-request.ts';
import { compileVerifier } from './compile-verifier.ts';
import { compileSigner } from './signature.ts';
import { twitterCrcResponse } from './twitter.ts';

function verify(name: string, secret: string, atSeconds: number) {
  const hmac = { header: '', hash: '', secret, encoding: '' };
  const verifier = compileVerifier({ provider: name, verifier: { type: 'hmac', hmac } });
  return (parts: Partial<IngestRequest>) => {
    const url = parts.url ?? 'https://hooks.example.com/ingest/abc';
    const rawQuery = url.split('?')[1] ?? '';
    const empty = { method: 'POST', path: '/', headers: {}, body: Buffer.alloc(0) };
    return verifier({ ...empty, ...parts, url, rawQuery }, atSeconds * 1000);
  };
}

/** The event of the test of PagerDuty's library: references all have the same fields in the same order. */
function pagerDutyBody(): string {
  const reference = (path: string, id: string, summary: string) => {
    const type = `${path.replace(/policies$/, 'policy').replace(/s$/, '')}_reference`;
    const html_url = `https://acme.pagerduty.com/${path}/${id}`;
    return { html_url, id, self: `https://api.pagerduty.com/${path}/${id}`, summary, type };
  };
  const priority = {
    html_url: 'https://acme.pagerduty.com/account/incident_priorities',
    id: 'PSO75BM',
    self: 'https://api.pagerduty.com/priorities/PSO75BM',
    summary: 'P1',
    type: 'priority_reference',
  };
  const data = {
    id: 'PGR0VU2',
    type: 'incident',
    self: 'https://api.pagerduty.com/incidents/PGR0VU2',
    html_url: 'https://acme.pagerduty.com/incidents/PGR0VU2',
    number: 2,
    status: 'triggered',
    title: 'A little bump in the road',
    service: reference('services', 'PF9KMXH', 'API Service'),
    assignees: [reference('users', 'PTUXL6G', 'User 123')],
    escalation_policy: reference('escalation_policies', 'PUS0KTE', 'Default'),
    teams: [reference('teams', 'PFCVPS0', 'Engineering')],
    priority,
    urgency: 'high',
    conference_bridge: { conference_number: 1000, conference_url: 'https://example.com' },
    resolve_reason: null,
  };
  const event = {
    id: '01BWDWL3NYY7LUFPZCC28QUCMK',
    event_type: 'incident.priority_updated',
    resource_type: 'incident',
    occurred_at: '2021-04-26T17:36:27.458Z',
    agent: reference('users', 'PLH1HKV', 'Tenex Engineer'),
    client: null,
    data,
  };
  return JSON.stringify({ event });
}

describe('published vectors', () => {
  it('of GitHub', () => {
    const signature = 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17';
    const check = verify('github', "It's a Secret to Everybody", 0);
    const headers = { 'x-hub-signature-256': signature };
    expect(check({ headers, body: Buffer.from('Hello, World!') })).toEqual({ ok: true });
    expect(check({ headers, body: Buffer.from('Hello, World?') }).ok).toBe(false);
  });

  it('of Slack', () => {
    const body =
      'token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V' +
      '&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=' +
      '&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN' +
      '&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c';
    const headers = {
      'x-slack-request-timestamp': '1531420618',
      'x-slack-signature': 'v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503',
    };
    const check = verify('slack', '8f742231b10e8888abcd99yyyzzz85a5', 1_531_420_700);
    expect(check({ headers, body: Buffer.from(body) })).toEqual({ ok: true });
  });

  it.each(['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'])(
    'of Standard Webhooks, with the secret %s',
    (secret) => {
      const headers = {
        'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
        'webhook-timestamp': '1614265330',
        'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
      };
      const check = verify('standard_webhooks', secret, 1_614_265_330);
      expect(check({ headers, body: Buffer.from('{"test": 2432232314}') })).toEqual({ ok: true });
    },
  );

  it.each([
    ['https://mycompany.com/myapp.php?foo=1&bar=2', 'RSOYDt4T1cUTdK1PDd93/VVr8B8='],
    ['https://mycompany.com:1234/myapp.php?foo=1&bar=2', 'RSOYDt4T1cUTdK1PDd93/VVr8B8='],
    ['http://mycompany.com:1234/myapp.php?foo=1&bar=2', 'Zmvh+3yNM1Phv2jhDCwEM3q5ebU='],
    ['https://mycompany.com/myapp.php?foo=1&bar=2', 'kvajT1Ptam85bY51eRf/AJRuM3w='],
    ['http://mycompany.com/myapp.php?foo=1&bar=2', '0ZXoZLH/DfblKGATFgpif+LLRf4='],
    ['https://user:pass@mycompany.com/myapp.php?foo=1&bar=2', 'CukzLTc1tT5dXEDIHm/tKBanW10='],
    ['https://user@mycompany.com/myapp.php?foo=1&bar=2', '2YRLlVAflCqxaNicjMpJcSTgzSs='],
    ['https://user:pass@mycompany.com/myapp.php?foo=1&bar=2', 'ZQFR1PTIZXF2MXB8ZnKCvnnA+rI='],
    ["https://mycompany.com/myapp.php?foo=1&bar=2&Body=It's+amazing", 'dsq4Ehbj6cs+KdTkpF5sSSplOWw='],
  ])('of Twilio, a form to %s', (url, signature) => {
    const form =
      'To=%2B18005551212&Digits=1234&CallSid=CA1234567890ABCDE&From=%2B14158675309&Caller=%2B14158675309';
    const headers = {
      'content-type': 'application/x-www-form-urlencoded; charset=utf-8',
      'x-twilio-signature': signature,
    };
    const check = verify('twilio', '12345', 0);
    expect(check({ url, headers, body: Buffer.from(form) })).toEqual({ ok: true });
    expect(check({ url: `${url}&x=1`, headers, body: Buffer.from(form) }).ok).toBe(false);
    expect(check({ url, headers, body: Buffer.from(`${form}&x=1`) }).ok).toBe(false);
    const asText = { ...headers, 'content-type': 'text/plain' };
    expect(check({ url, headers: asText, body: Buffer.from(form) }).ok).toBe(false);
  });

  it.each([
    [
      'MessagingBinding.Address=%2B1415xxxxxxx&MessagingBinding.Address=%2B1325xxxxxxx',
      '83O6e2vORAoJHUNzJjDWN1jz+BA=',
    ],
    ['Sid=CA123&SidAccount=AC123&Digits=5678&Digits=1234&Digits=1234', 'IK+Dwps556ElfBT0I3Rgjkr1wJU='],
  ])('of Twilio, repeated fields %s', (form, signature) => {
    const headers = {
      'content-type': 'application/x-www-form-urlencoded',
      'x-twilio-signature': signature,
    };
    const url = 'https://mycompany.com/myapp.php?foo=1&bar=2';
    expect(verify('twilio', '12345', 0)({ url, headers, body: Buffer.from(form) })).toEqual({ ok: true });
  });

  it.each([
    ['https://mycompany.com/myapp.php?foo=1&bar=2&', 'a9nBmqA0ju/hNViExpshrM61xv4='],
    ['https://mycompany.com/myapp.php?', 'y77kIzt2vzLz71DgmJGsen2scGs='],
  ])('of Twilio, JSON to %s', (start, signature) => {
    const url = `${start}bodySHA256=0a1ff7634d9ab3b95db5c9a2dfe9416e41502b283a80c7cf19632632f96e6620`;
    const headers = { 'content-type': 'application/json', 'x-twilio-signature': signature };
    const body = Buffer.from('{"property": "value", "boolean": true}');
    const check = verify('twilio', '12345', 0);
    expect(check({ url, headers, body })).toEqual({ ok: true });
    expect(check({ url, headers, body: Buffer.from('{}') }).ok).toBe(false);
  });

  it('of Square', () => {
    const check = verify('square', 'asdf1234', 0);
    const headers = { 'x-square-hmacsha256-signature': '2kRE5qRU2tR+tBGlDwMEw2avJ7QM4ikPYD/PJ3bd9Og=' };
    const body = Buffer.from('{"hello":"world"}');
    expect(check({ url: 'https://example.com/webhook', headers, body })).toEqual({ ok: true });
    expect(check({ url: 'https://example.com/webhook/', headers, body }).ok).toBe(false);
  });

  it('of HubSpot', () => {
    const check = verify('hubspot', 'yyyyyyyy-yyyy-yyyy-yyyy-yyyyyyyyyyyy', 15_000);
    const headers = {
      'x-hubspot-signature-v3': 'HPW73RUtKmcYoEDADG0s6MmGFWUzWJKAW07r8RDgcQw=',
      'x-hubspot-request-timestamp': '15000000',
    };
    const body = Buffer.from("{'example_field':'example_value'}");
    expect(check({ url: 'https://www.example.com/webhook_uri', headers, body })).toEqual({ ok: true });
    expect(check({ url: 'https://www.example.com/webhook%5Furi', headers, body }).ok).toBe(false);
  });

  it('of Mailgun', () => {
    const signature = {
      timestamp: '1403645220',
      token: '5egbgr1vjgqxtrnp65xfznchgdccwh5d6i09vijqi3whgowmn6',
      signature: '9cfc5c41582e51246e73c88d34db3af0a3a2692a76fbab81492842f000256d33',
    };
    const sent = (given: unknown, atSeconds = 1_403_645_300) =>
      verify(
        'mailgun',
        'key-3ax6xnjp29jd6fds4gc373sgvjxteol0',
        atSeconds,
      )({
        body: Buffer.from(JSON.stringify({ signature: given, 'event-data': { event: 'opened' } })),
      }).ok;
    expect(sent(signature)).toBe(true);
    expect(sent(signature, 1_403_645_521)).toBe(false);
    for (const wrong of [
      undefined,
      'text',
      {},
      { ...signature, token: 'x' },
      { ...signature, timestamp: 1403645220 },
    ])
      expect(sent(wrong)).toBe(false);
  });

  it('of PagerDuty, the digest of its library’s test', () => {
    const check = verify('pagerduty', 'lDQHScfUeXUKaQRNF+8XIiDKZ7XX3itBAYzwU0TARw8lJqRnkKl2iB1anSb0Z+IK', 0);
    const right = 'v1=0c0b9495b893a39e70d1fea2fe11fbe0a825f88b9f67846f6cc07dd2bc5476cd';
    const wrong = 'v1=7020c8a7ec668a9b7012bc3dd82e483394b038f4230acc6785efbf2a7d8bcaf5';
    const body = Buffer.from(pagerDutyBody());
    const sent = (signature: string) => check({ headers: { 'x-pagerduty-signature': signature }, body }).ok;
    expect([sent(right), sent(`${wrong},${right}`), sent(wrong), sent(right.replace('v1', 'v2'))]).toEqual([
      true,
      true,
      false,
      false,
    ]);
  });

  it.each([
    [
      'zoom',
      {
        'x-zm-signature': 'v0=fdc7bfef45b70657da1795d12f2e658bf36f341f074d37174c6259c3d6e16f22',
        'x-zm-request-timestamp': '1731625200',
      },
    ],
    ['typeform', { 'typeform-signature': 'sha256=N3e0TidDZ6dujvniKiIHigxu+l7Pax/PTYfoV71nSsQ=' }],
    ['intercom', { 'x-hub-signature': 'sha1=8afb324cd1c44cf1d43e02ebeaeb01fa017d6245' }],
    [
      'calendly',
      {
        'calendly-webhook-signature':
          't=1731625200,v1=4bc18e9a6bc47786b23d61a3b043c57af46e8e2e3d4a007d530b967707dcab87',
      },
    ],
  ])('are missing for %s: computed with Python, by the steps that its pages describe', (name, headers) => {
    const check = verify(name, 'a secret of the provider', 1_731_625_300);
    const text = '{"event":"meeting.started","payload":{"note":"Zoë"}}';
    expect(check({ headers, body: Buffer.from(text) })).toEqual({ ok: true });
    expect(check({ headers, body: Buffer.from(text.replace('ë', 'e')) }).ok).toBe(false);
    expect(verify(name, 'another', 1_731_625_300)({ headers, body: Buffer.from(text) }).ok).toBe(false);
  });

  it('of a Twitter challenge', () => {
    expect(twitterCrcResponse('Convoy', 'uzwcfYtzr9')).toEqual({
      response_token: 'sha256=HXvxTdsfShG6k2zC9NVANwFquJBdOugRYHax2vNiiOo=',
    });
  });
});

// Test case 2 of RFC 2202 (MD5, SHA-1) and RFC 4231 (SHA-2), and the same case as published for SHA-3.
const jefe: Record<string, string> = {
  MD5: '750c783e6ab0b503eaa86e310a5db738',
  SHA1: 'effcdf6ae5eb2fa2d27416d5f184df9c259a7c79',
  SHA224: 'a30e01098bc6dbbf45690f3a7e9e6d0f8bbea2a39e6148008fd05e44',
  SHA256: '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
  SHA384: 'af45d2e376484031617f78d2b58a6b1b9c7ef464f5a01b47e42ec3736322445e8e2240ca5e69e2c78b3239ecfab21649',
  SHA512:
    '164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea2505549758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737',
  SHA3_224: '7fdb8dd88bd2f60d1b798634ad386811c2cfc85bfaf5d52bbace5e66',
  SHA3_256: 'c7d4072e788877ae3596bbb0da73b887c9171f93095b294ae857fbe2645e1ba5',
  SHA3_384:
    'f1101f8cbf9766fd6764d2ed61903f21ca9b18f57cf3e1a23ca13508a93243ce48c045dc007f26a21b3f5e0e9df4c20a',
  SHA3_512:
    '5a4bfeab6166427c7a3647b747292b8384537cdb89afb3bf5665e4c5e709350b287baec921fd7ca0ee7a0c31d022a95e1fc92ba9d77df883960275beb4e62024',
};

describe('every hash name', () => {
  it.each(signatureHashes)('%s signs and verifies in both encodings', (hash) => {
    const digestBytes = new Map([
      ['MD5', 16],
      ['SHA1', 20],
    ]);
    const expectedBytes = digestBytes.get(hash) ?? Number(/\d+$/.exec(hash)?.[0]) / 8;
    for (const encoding of ['hex', 'base64'] as const) {
      const signer = compileSigner(hash, encoding, 'Jefe');
      const digest = signer.sign('what do ya want ', 'for nothing?');
      expect(Buffer.from(digest, encoding).length).toBe(expectedBytes);
      expect(signer.matches(digest, Buffer.from('what do ya want for nothing?'))).toBe(true);
      expect(signer.matches(digest, 'what do ya want for nothing!')).toBe(false);
      expect(compileSigner(hash, encoding, 'jefe').matches(digest, 'what do ya want for nothing?')).toBe(
        false,
      );
    }
    const known = jefe[hash];
    if (known !== undefined) {
      expect(compileSigner(hash, 'hex', 'Jefe').sign('what do ya want for nothing?')).toBe(known);
    }
  });

  it('has twelve names, all with different digests', () => {
    const digests = signatureHashes.map((hash) => compileSigner(hash, 'hex', 'k').sign('x'));
    expect(new Set(digests).size).toBe(12);
  });
});
