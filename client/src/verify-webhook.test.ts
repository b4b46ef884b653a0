import { createPrivateKey } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { compileSigner, type SigningConfig } from '../../src/signing/sign-delivery.ts';
import { generateEd25519, standardWebhooksSecret } from '../../src/signing/signing-secrets.ts';
import { type SignatureCase, signatureCases } from '../../test/docs/signature-cases.ts';
import { type VerifyOptions, verifyWebhook } from './verify-webhook.ts';

const SCHEME = {
  standard: 'standard',
  ed25519: 'standard',
  convoy: 'convoy',
  simple: 'convoy-simple',
} as const;

describe('every request of the receiver samples', () => {
  const cases = signatureCases.map(
    (one) => [one.accepted ? 'accepts' : 'refuses', one.check, one.name, one] as const,
  );

  it.each(cases)('%s by %s: %s', async (_verb, _check, _name, one: SignatureCase) => {
    const checked = verifyWebhook(one, one.secret, { schemes: [SCHEME[one.check]] });
    if (one.accepted) expect((await checked).body).toEqual(new Uint8Array(one.body));
    else await expect(checked).rejects.toMatchObject({ name: 'WebhookError' });
  });

  it.each(cases.filter(([verb, check]) => verb === 'accepts' && check !== 'simple'))(
    '%s by %s as a fetch Request: %s',
    async (_verb, _check, _name, { headers, body, secret }) => {
      const init = { method: 'POST', headers, body: new Uint8Array(body) };
      const webhook = await verifyWebhook(new Request('http://localhost/', init), ['another', secret]);
      expect(webhook.body).toEqual(new Uint8Array(body));
    },
  );
});

describe('the published values of Standard Webhooks', () => {
  const headers = {
    'Webhook-Id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'Webhook-Timestamp': '1614265330',
    'Webhook-Signature':
      'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE= ' +
      'v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg==',
  };
  const body = '{"test": 2432232314}';
  const now = 1_614_265_330_000;
  // The second half of the published 64-byte key.
  const publicKey = Buffer.from(
    '6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg==',
    'base64',
  ).subarray(32);

  it.each([
    ['v1', 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
    ['v1a', `whpk_${publicKey.toString('base64')}`],
  ])('%s', async (_version, secret) => {
    const webhook = await verifyWebhook({ headers, body }, secret, { now });
    expect(webhook).toMatchObject({ scheme: 'standard', id: headers['Webhook-Id'], time: new Date(now) });
    expect([webhook.text(), webhook.json()]).toEqual([body, { test: 2432232314 }]);
    await expect(verifyWebhook({ headers, body: `${body} ` }, secret, { now })).rejects.toThrow();
    await expect(verifyWebhook({ headers, body }, secret)).rejects.toMatchObject({ problem: 'bad_time' });
  });

  it('a second one, of v1', async () => {
    const second = {
      'webhook-id': 'msg_27UH4WbU6Z5A5EzD8u03UvzRbpk',
      'webhook-timestamp': '1649367553',
      'webhook-signature': 'v1,tZ1I4/hDygAJgO5TYxiSd6Sd0kDW6hPenDe+bTa3Kkw=',
    };
    const input = {
      headers: new Headers(second),
      body: '{"email":"test@example.com","username":"test_user"}',
    };
    const at = { now: 1_649_367_553_000 };
    await verifyWebhook(input, 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD', at);
  });
});

/** Headers and body of a delivery as the server signs it. */
function delivery(config: Partial<SigningConfig> = {}) {
  const body = Buffer.from('{"amount":1}');
  const timestampSeconds = Math.floor(Date.now() / 1000);
  const signer = compileSigner({
    schemes: ['convoy', 'standard'],
    header: 'X-Convoy-Signature',
    versions: [{ hash: 'SHA256', encoding: 'hex' }],
    advanced: true,
    secrets: [{ value: 'secret', expiresAt: null }],
    ...config,
  });
  const headers = Object.fromEntries(
    signer.headers({ id: 'msg_1', timestampSeconds, nowMs: Date.now(), body }),
  );
  return { headers, body };
}

describe('every signature of the server', () => {
  const hashes = ['SHA1', 'SHA256', 'SHA384', 'SHA512'] as const;
  const cases = hashes.flatMap((hash) =>
    (['hex', 'base64'] as const).flatMap((encoding) =>
      ([true, false] as const).map((advanced) => ({ hash, encoding, advanced })),
    ),
  );

  it.each(cases)('Convoy %j', async ({ hash, encoding, advanced }) => {
    const versions = [{ hash: 'MD5', encoding: 'hex' } as const, { hash, encoding }];
    const sent = delivery({ schemes: ['convoy'], header: 'X-Signed', versions, advanced });
    const options: VerifyOptions = {
      schemes: [advanced ? 'convoy' : 'convoy-simple'],
      convoyHeader: 'X-Signed',
      convoyHash: hash,
      convoyEncoding: encoding,
    };
    expect((await verifyWebhook(sent, 'secret', options)).json()).toEqual({ amount: 1 });
    await expect(verifyWebhook(sent, 'other', options)).rejects.toMatchObject({ problem: 'wrong_signature' });
  });

  it.each(['secret', 'whsec_c2VjcmV0', 'whsec_not base64!', 'sécret'])(
    'with the secret %j in every form',
    async (value) => {
      const secrets = [
        { value: 'old', expiresAt: Date.now() + 60_000 },
        { value, expiresAt: null },
      ];
      const sent = delivery({ secrets });
      for (const secret of [value, standardWebhooksSecret(value), 'old'])
        expect((await verifyWebhook(sent, secret)).scheme).toBe('standard');
      expect((await verifyWebhook(sent, value, { schemes: ['convoy'] })).scheme).toBe('convoy');
    },
  );

  it('of an Ed25519 key, with and without secrets', async () => {
    const { privateKeyPem, publicKey } = generateEd25519();
    const ed25519 = { privateKey: createPrivateKey(privateKeyPem) };
    for (const secrets of [[], [{ value: 'secret', expiresAt: null }]])
      await verifyWebhook(delivery({ ed25519, secrets }), ['wrong', publicKey]);
    const another = generateEd25519().publicKey;
    await expect(verifyWebhook(delivery({ ed25519 }), another)).rejects.toThrow();
  });
});

describe('is refused', () => {
  it('a simple signature, unless it is asked for', async () => {
    const simple = delivery({ advanced: false, schemes: ['convoy'] });
    await expect(verifyWebhook(simple, 'secret')).rejects.toMatchObject({ problem: 'no_signature' });
    await verifyWebhook(simple, 'secret', { schemes: ['convoy-simple'] });
  });

  it('an advanced signature that is cut down to a simple one', async () => {
    const { headers, body } = delivery({ schemes: ['convoy'] });
    const cut = { 'x-convoy-signature': headers['X-Convoy-Signature']!.split('v1=')[1]! };
    const options: VerifyOptions = { schemes: ['convoy', 'convoy-simple'] };
    await expect(verifyWebhook({ headers: cut, body }, 'secret', options)).rejects.toThrow();
  });

  it.each([[''], [[]], [['secret', '']], ['whpk_short']])('with the secrets %j', async (secrets) => {
    await expect(verifyWebhook(delivery(), secrets)).rejects.toMatchObject({ problem: 'bad_secret' });
  });

  it('a good signature behind too many others', async () => {
    const { headers, body } = delivery();
    const signature = headers['webhook-signature']!;
    const behind = (count: number) => ({
      headers: { ...headers, 'webhook-signature': `${'v1,AAAA '.repeat(count)}${signature}` },
      body,
    });
    await verifyWebhook(behind(19), 'secret', { schemes: ['standard'] });
    await expect(verifyWebhook(behind(20), 'secret', { schemes: ['standard'] })).rejects.toThrow();
  });

  it('a body that was parsed, with the reason', async () => {
    const parsed = { headers: delivery().headers, body: { amount: 1 } as unknown as string };
    await expect(verifyWebhook(parsed, 'secret')).rejects.toThrow('unparsed bytes');
  });

  it('a Request that is too large, without reading the rest', async () => {
    const { headers } = delivery();
    let read = 0;
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        read += 1;
        controller.enqueue(new Uint8Array(1024));
      },
    });
    const request = new Request('http://localhost/', {
      method: 'POST',
      headers,
      body,
      duplex: 'half',
    } as RequestInit);
    await expect(verifyWebhook(request, 'secret', { maxBytes: 4096 })).rejects.toMatchObject({
      problem: 'too_large',
    });
    expect(read).toBeLessThan(10);
  });
});

describe('a secret that is not there', () => {
  const unsigned = { headers: {}, body: '' };

  it.each<[string, unknown, string]>([
    ['undefined', undefined, 'secrets is undefined'],
    ['null', null, 'secrets is null'],
    ['among others', ['a', undefined], 'secrets[1] is undefined'],
    ['a number', 5, 'secrets is a number'],
  ])('(%s) is a TypeError that says so, whatever the request has', async (_name, secrets, message) => {
    const checked = verifyWebhook(unsigned, secrets as string);
    await expect(checked).rejects.toThrow(TypeError);
    await expect(verifyWebhook(unsigned, secrets as string)).rejects.toThrow(
      `${message}, not a string. Check the setting or environment variable that it comes from.`,
    );
  });
});
