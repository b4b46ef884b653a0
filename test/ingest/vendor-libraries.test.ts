import { generateKeyPairSync } from 'node:crypto';
import { LinearWebhookClient } from '@linear/sdk/webhooks';
import { Paddle } from '@paddle/paddle-node-sdk';
import { verifyKey } from 'discord-interactions';
import { describe, expect, it } from 'vitest';
import { compileVerifier } from '../../src/ingest/verify/compile-verifier.ts';
import { moreSchemes } from '../support/samples/more-schemes.ts';

/**
 * The libraries of providers that publish no request with its signature: what their library accepts, the preset accepts,
 * and what it refuses, the preset refuses.
 */
interface Sent {
  headers: Record<string, string>;
  body: string;
  secret: string;
}

const LIBRARIES: Record<string, (sent: Sent) => Promise<boolean>> = {
  paddle: ({ headers, body, secret }) =>
    new Paddle('pdl_test').webhooks.isSignatureValid(body, secret, headers['paddle-signature'] ?? ''),
  discord: ({ headers, body, secret }) =>
    verifyKey(
      Buffer.from(body),
      headers['x-signature-ed25519'] ?? '',
      headers['x-signature-timestamp'] ?? '',
      secret,
    ),
  linear: async ({ headers, body, secret }) => {
    const { webhookTimestamp } = JSON.parse(body) as { webhookTimestamp: number };
    const client = new LinearWebhookClient(secret);
    return client.verify(Buffer.from(body), headers['linear-signature'] ?? '', webhookTimestamp);
  },
};

const bodyAt = (ms: number, note: string) =>
  JSON.stringify({ event_type: 'a.b', type: 'Issue', action: 'create', webhookTimestamp: ms, note });

function signed(provider: string, { ms = Date.now(), body = bodyAt(ms, 'Zoë ☕') } = {}): Sent {
  const seconds = String(Math.floor(ms / 1000));
  const given = { secret: 'a secret of the provider', body, seconds, url: 'https://example.com/ingest/a' };
  const sample = moreSchemes(given).find((one) => one.provider === provider);
  return { headers: sample?.headers ?? {}, body, secret: sample?.secret ?? '' };
}

function accepts(provider: string, { headers, body, secret }: Sent): boolean {
  const hmac = { header: '', hash: '', secret, encoding: '' };
  const verify = compileVerifier({ provider, verifier: { type: 'hmac', hmac } });
  const url = 'https://example.com/ingest/a';
  const request = { method: 'POST', path: '/ingest/a', rawQuery: '', url, headers, body: Buffer.from(body) };
  return verify(request, Date.now()).ok;
}

/** A refusal may be an error. */
const orRefused = (answer: Promise<boolean>) => answer.catch(() => false);

const otherKey = Buffer.from(
  generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' }).x ?? '',
  'base64url',
).toString('hex');

describe.each(Object.entries(LIBRARIES))(
  'the preset %s and the library of the provider',
  (provider, library) => {
    // Paddle's library takes five seconds for old, so each is signed just before.
    it.each<[string, boolean, (right: Sent) => Sent]>([
      ['a webhook', true, (right) => right],
      ['an empty text in it', true, () => signed(provider, { body: bodyAt(Date.now(), '') })],
      ['another body', false, (right) => ({ ...right, body: bodyAt(Date.now(), 'changed') })],
      ['another secret', false, (right) => ({ ...right, secret: provider === 'discord' ? otherKey : 'x' })],
      [
        'the signature of another',
        false,
        (right) => ({ ...right, headers: signed(provider, { body: '{}' }).headers }),
      ],
      ['no signature', false, (right) => ({ ...right, headers: {} })],
    ])('agree on %s', async (_name, isAccepted, change) => {
      const sent = change(signed(provider));
      const verdicts = [await orRefused(library(sent)), accepts(provider, sent)];
      expect(verdicts).toEqual([isAccepted, isAccepted]);
    });
  },
);

it.each(['paddle', 'linear'])('the preset %s and the library refuse an old webhook', async (provider) => {
  const old = signed(provider, { ms: Date.now() - 3_600_000 });
  expect([await orRefused(LIBRARIES[provider]!(old)), accepts(provider, old)]).toEqual([false, false]);
});
