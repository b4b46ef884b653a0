import { createHash, createHmac } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { moreSchemes } from '../../../test/support/samples/more-schemes.ts';
import type { IngestRequest } from '../request/ingest-request.ts';
import {
  compileVerifier,
  type VerifiedSource,
  verifierHeaders,
  verifiesBySignature,
} from './compile-verifier.ts';
import { findPreset, providerPresets } from './presets.ts';

const nowMs = 1_760_000_000_500;
const nowSeconds = '1760000000';
const body = Buffer.from(
  '{"id":"evt_1","amount":12.50,"note":"grüße","webhookTimestamp":1760000000000}',
  'utf8',
);

type Verifier = VerifiedSource['verifier'];
const own = (verifier: Verifier): VerifiedSource => ({ provider: '', verifier });
const hmacBy = (header: string, hash: string, secret: string, encoding: string): Verifier => ({
  type: 'hmac',
  hmac: { header, hash, secret, encoding },
});
const ownHmac = (...given: Parameters<typeof hmacBy>) => own(hmacBy(...given));
const provider = (name: string, secret: string): VerifiedSource => ({
  provider: name,
  verifier: hmacBy('', '', secret, ''),
});

function requestWith(parts: Partial<IngestRequest>): IngestRequest {
  return {
    method: 'POST',
    path: '/ingest/abc',
    rawQuery: '',
    headers: {},
    body,
    url: 'https://hooks.example.com/ingest/abc',
    ...parts,
  };
}

const hmac = (hash: string, secret: string | Buffer, text: string) =>
  createHmac(hash, secret).update(text).update(body);

interface Scheme {
  title: string;
  source: VerifiedSource;
  request: IngestRequest;
  /** Headers that must all be present and intact. */
  headers: string[];
  /** Normalises differences in a header that the scheme ignores, such as the case of hexadecimal digits. */
  fold?: (value: string) => string;
  signsBody: boolean;
  /** The header is a list, in which a repeated signature is legal. */
  isList?: true;
}

const lower = (value: string) => value.toLowerCase();
const rawSecret = 'shh: a secret';
const key = Buffer.from('0123456789abcdef0123456789abcdef');
const whsec = `whsec_${key.toString('base64')}`;
const bodyHash = createHash('sha256').update(body).digest('hex');
const twilioUrl = `https://hooks.example.com/ingest/abc?bodySHA256=${bodyHash}`;

function standardHeaders(family: string): Record<string, string> {
  return {
    [`${family}-id`]: 'msg_1',
    [`${family}-timestamp`]: nowSeconds,
    [`${family}-signature`]: `v1,${hmac('sha256', key, `msg_1.${nowSeconds}.`).digest('base64')}`,
  };
}

const schemes: Scheme[] = [
  {
    title: 'hmac in hex',
    source: ownHmac('X-Sig', 'SHA512', rawSecret, 'hex'),
    request: requestWith({ headers: { 'x-sig': hmac('sha512', rawSecret, '').digest('hex') } }),
    headers: ['x-sig'],
    fold: lower,
    signsBody: true,
  },
  {
    title: 'hmac in base64',
    source: ownHmac('X-Sig', 'SHA256', rawSecret, 'base64'),
    request: requestWith({ headers: { 'x-sig': hmac('sha256', rawSecret, '').digest('base64') } }),
    headers: ['x-sig'],
    signsBody: true,
  },
  {
    title: 'basic_auth',
    source: own({ type: 'basic_auth', basic_auth: { username: 'ada', password: 'pa:ss:wörd' } }),
    request: requestWith({
      headers: { authorization: `Basic ${Buffer.from('ada:pa:ss:wörd').toString('base64')}` },
    }),
    headers: ['authorization'],
    fold: (value) => value.slice(0, 5).toLowerCase() + value.slice(5),
    signsBody: false,
  },
  {
    title: 'api_key',
    source: own({ type: 'api_key', api_key: { header_name: 'X-Key', header_value: 'k-123' } }),
    request: requestWith({ headers: { 'x-key': 'k-123' } }),
    headers: ['x-key'],
    signsBody: false,
  },
  {
    title: 'github',
    source: provider('github', rawSecret),
    request: requestWith({
      headers: { 'x-hub-signature-256': `sha256=${hmac('sha256', rawSecret, '').digest('hex')}` },
    }),
    headers: ['x-hub-signature-256'],
    fold: (value) => value.slice(0, 7) + value.slice(7).toLowerCase(),
    signsBody: true,
  },
  {
    title: 'shopify',
    source: provider('shopify', rawSecret),
    request: requestWith({
      headers: { 'x-shopify-hmac-sha256': hmac('sha256', rawSecret, '').digest('base64') },
    }),
    headers: ['x-shopify-hmac-sha256'],
    signsBody: true,
  },
  {
    title: 'twitter',
    source: provider('twitter', rawSecret),
    request: requestWith({
      headers: { 'x-twitter-webhooks-signature': `sha256=${hmac('sha256', rawSecret, '').digest('base64')}` },
    }),
    headers: ['x-twitter-webhooks-signature'],
    signsBody: true,
  },
  {
    title: 'stripe',
    source: provider('stripe', rawSecret),
    request: requestWith({
      headers: {
        'stripe-signature': `t=${nowSeconds},v1=${hmac('sha256', rawSecret, `${nowSeconds}.`).digest('hex')}`,
      },
    }),
    headers: ['stripe-signature'],
    fold: (value) => value.slice(0, 16) + value.slice(16).toLowerCase(),
    signsBody: true,
  },
  {
    title: 'slack',
    source: provider('slack', rawSecret),
    request: requestWith({
      headers: {
        'x-slack-request-timestamp': nowSeconds,
        'x-slack-signature': `v0=${hmac('sha256', rawSecret, `v0:${nowSeconds}:`).digest('hex')}`,
      },
    }),
    headers: ['x-slack-request-timestamp', 'x-slack-signature'],
    fold: (value) => value.slice(0, 3) + value.slice(3).toLowerCase(),
    signsBody: true,
  },
  ...(['standard_webhooks', 'svix', 'gitlab'] as const).map((name): Scheme => {
    const family = name === 'svix' ? 'svix' : 'webhook';
    return {
      title: name,
      source: provider(name, whsec),
      request: requestWith({ headers: standardHeaders(family) }),
      headers: [`${family}-id`, `${family}-timestamp`, `${family}-signature`],
      signsBody: true,
    };
  }),
  {
    title: 'gitlab with a secret token',
    source: provider('gitlab', rawSecret),
    request: requestWith({ headers: { 'x-gitlab-token': rawSecret } }),
    headers: ['x-gitlab-token'],
    signsBody: false,
  },
  {
    title: 'twilio with a JSON body',
    source: provider('twilio', rawSecret),
    request: requestWith({
      url: twilioUrl,
      rawQuery: `bodySHA256=${bodyHash}`,
      headers: {
        'content-type': 'application/json',
        'x-twilio-signature': createHmac('sha1', rawSecret).update(twilioUrl).digest('base64'),
      },
    }),
    headers: ['x-twilio-signature'],
    signsBody: true,
  },
  ...moreSchemes({
    secret: rawSecret,
    body: body.toString('utf8'),
    url: requestWith({}).url,
    seconds: nowSeconds,
  }).map(
    ({ headers, ...sample }): Scheme => ({
      title: sample.provider,
      source: provider(sample.provider, sample.secret),
      request: requestWith({ headers }),
      headers: Object.keys(headers),
      fold: (value) => value.replace(/[0-9a-f]{40,}$/i, lower),
      signsBody: true,
      ...(sample.isList && { isList: true }),
    }),
  ),
];

function flipBit(bytes: Buffer, bit: number): Buffer {
  const copy = Buffer.from(bytes);
  copy[bit >> 3] = (copy[bit >> 3] ?? 0) ^ (1 << (bit & 7));
  return copy;
}

const withHeader = (request: IngestRequest, name: string, value: string | string[] | undefined) => ({
  ...request,
  headers: { ...request.headers, [name]: value },
});

describe.each(schemes)('$title', ({ source, request, headers, isList, fold = (value) => value }) => {
  const verify = compileVerifier(source);

  it('accepts a request signed by the documented scheme', () => {
    expect(verify(request, nowMs)).toEqual({ ok: true });
  });

  it('accepts a header that arrives as an array of one', () => {
    const [name = ''] = headers;
    expect(verify(withHeader(request, name, [String(request.headers[name])]), nowMs)).toEqual({ ok: true });
  });

  it('refuses any header it relies on with any one bit flipped', () => {
    for (const name of headers) {
      const value = Buffer.from(String(request.headers[name]), 'latin1');
      for (let bit = 0; bit < value.length * 8; bit++) {
        const flipped = flipBit(value, bit).toString('latin1');
        if (fold(flipped) === fold(value.toString('latin1'))) continue;
        expect(verify(withHeader(request, name, flipped), nowMs), flipped).toMatchObject({ ok: false });
      }
    }
  });

  it('refuses missing, empty, repeated, over-long and foreign headers', () => {
    for (const name of headers) {
      const value = String(request.headers[name]);
      const twice = isList === true ? [] : [`${value}, ${value}`, `${value},${value}`];
      const bad = [undefined, '', [], [value, value], ...twice];
      for (const wrong of [...bad, value.repeat(9000), `${value}\u0161`, ` ${value}x`]) {
        expect(verify(withHeader(request, name, wrong), nowMs)).toMatchObject({ ok: false });
      }
    }
  });

  it('gives a reason that shows neither the secret nor the right signature', () => {
    for (const name of headers) {
      const result = verify(withHeader(request, name, 'wrong'), nowMs);
      expect(result.ok).toBe(false);
      if (result.ok) continue;
      expect(result.reason.length).toBeGreaterThan(10);
      for (const secret of [rawSecret, whsec, 'pa:ss', 'k-123', String(request.headers[name])]) {
        expect(result.reason).not.toContain(secret);
      }
    }
  });

  it('never throws and never accepts random headers and bodies', () => {
    const value = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 80 }),
      fc.array(fc.string(), { maxLength: 3 }),
      fc.constant(undefined),
      fc.constantFrom(...headers.map((name) => String(request.headers[name]).slice(0, -1))),
    );
    const names = fc.constantFrom(...headers, 'constructor', '__proto__', 'content-type');
    fc.assert(
      fc.property(fc.dictionary(names, value), fc.uint8Array(), (random, bytes) => {
        const result = verify({ ...request, headers: random, body: Buffer.from(bytes) }, nowMs);
        expect(result.ok).toBe(false);
      }),
      { numRuns: 100 },
    );
  });
});

describe.each(schemes.filter(({ signsBody }) => signsBody))('$title', ({ source, request }) => {
  const verify = compileVerifier(source);

  it('refuses the body with any one bit flipped, cut short or extended', () => {
    for (let bit = 0; bit < body.length * 8; bit++) {
      expect(verify({ ...request, body: flipBit(body, bit) }, nowMs).ok).toBe(false);
    }
    expect(verify({ ...request, body: body.subarray(1) }, nowMs).ok).toBe(false);
    expect(verify({ ...request, body: Buffer.concat([body, Buffer.from([0])]) }, nowMs).ok).toBe(false);
    expect(verify({ ...request, body: Buffer.alloc(0) }, nowMs).ok).toBe(false);
  });
});

describe('a source that is set up wrongly', () => {
  it.each([
    ['an unknown provider', provider('myspace', 'x')],
    ['a provider without a secret', provider('github', '')],
    ['a provider with another verifier', { provider: 'github', verifier: { type: 'noop' } }],
    ['a Discord key that is not one', provider('discord', 'ab'.repeat(31))],
    ['a whsec_ secret that is not base64', provider('standard_webhooks', 'whsec_!!!')],
    ['an empty whsec_ secret', provider('svix', 'whsec_')],
    ['hmac without a secret', ownHmac('x', 'SHA256', '', 'hex')],
    ['hmac without a header', ownHmac('', 'SHA256', 's', 'hex')],
    ['an unknown hash', ownHmac('x', 'toString', 's', 'hex')],
    ['an unknown encoding', ownHmac('x', 'SHA1', 's', 'HEX')],
    ['an empty API key', own({ type: 'api_key', api_key: { header_name: 'x', header_value: '' } })],
    ['empty Basic credentials', own({ type: 'basic_auth', basic_auth: { username: '', password: '' } })],
    ['a verifier of unknown type', own({ type: 'magic' } as never)],
  ] satisfies [string, VerifiedSource][])('refuses everything with %s', (_title, source) => {
    const digest = createHmac('sha256', '').update(body).digest('hex');
    const headers = { x: digest, authorization: 'Basic Og==', 'x-hub-signature-256': `sha256=${digest}` };
    expect(compileVerifier(source)(requestWith({ headers }), nowMs)).toMatchObject({ ok: false });
  });

  it('accepts everything only with noop', () => {
    const verify = compileVerifier(own({ type: 'noop' }));
    expect(verify(requestWith({ body: Buffer.alloc(0) }), nowMs)).toEqual({ ok: true });
  });
});

const TIMED = 'stripe slack standard_webhooks svix gitlab paddle zoom discord linear hubspot calendly'.split(
  ' ',
);

describe('signed timestamps', () => {
  it.each(schemes.filter(({ title }) => TIMED.includes(title)))(
    'of $title hold for 300 seconds either way',
    ({ source, request }) => {
      const verify = compileVerifier(source);
      const signedMs = Number(nowSeconds) * 1000;
      expect(verify(request, signedMs + 300_000).ok).toBe(true);
      expect(verify(request, signedMs - 300_000).ok).toBe(true);
      expect(verify(request, signedMs + 300_001).ok).toBe(false);
      expect(verify(request, signedMs - 300_001).ok).toBe(false);
    },
  );
});

describe('the table of presets', () => {
  it('has one entry per name, each with headers in lower case', () => {
    const names = providerPresets.map((preset) => preset.name);
    expect(new Set(names).size).toBe(names.length);
    expect(names).toEqual(expect.arrayContaining(['github', 'shopify', 'twitter']));
    for (const preset of providerPresets) {
      const headers = [...preset.signatureHeaders, ...preset.otherHeaders];
      expect(preset.signatureHeaders.length > 0 || preset.signatureIn !== undefined).toBe(true);
      expect(headers).toEqual(headers.map((header) => header.toLowerCase()));
    }
  });

  it.each(schemes.filter(({ source }) => source.provider !== ''))(
    'names the headers $title reads',
    ({ source, headers }) => {
      const preset = findPreset(source.provider);
      expect([...(preset?.signatureHeaders ?? []), ...(preset?.otherHeaders ?? [])]).toEqual(
        expect.arrayContaining(headers),
      );
    },
  );
});

describe('verifierHeaders and verifiesBySignature', () => {
  it('follow the scheme of the source', () => {
    const facts = schemes.map(({ title, source }) => [
      title,
      verifierHeaders(source),
      verifiesBySignature(source),
    ]);
    expect(facts).toContainEqual(['hmac in hex', ['x-sig'], true]);
    expect(facts).toContainEqual(['basic_auth', ['authorization'], false]);
    expect(facts).toContainEqual(['api_key', ['x-key'], false]);
    expect(facts).toContainEqual(['stripe', ['stripe-signature'], true]);
    const blank = { type: 'api_key', api_key: { header_name: '', header_value: 'k' } } as const;
    expect(verifierHeaders(own(blank))).toEqual(['authorization']);
    expect(verifierHeaders(own({ type: 'noop' }))).toEqual([]);
  });
});
