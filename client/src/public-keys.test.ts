import { describe, expect, it } from 'vitest';
import { publicKeys } from './public-keys.ts';

const X = '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo';

/** Answers in order, and counts the calls. */
function server(...answers: (object | number)[]) {
  const calls: string[] = [];
  const fetch = (async (url: string) => {
    const answer = answers[Math.min(calls.length, answers.length - 1)];
    calls.push(url);
    return typeof answer === 'number' ? new Response('', { status: answer }) : Response.json(answer);
  }) as unknown as typeof globalThis.fetch;
  return { calls, fetch };
}

const ours = { kty: 'OKP', crv: 'Ed25519', x: X, kid: 'k' };

describe('publicKeys', () => {
  it('gives the Ed25519 keys of a set in the form of verifyWebhook', async () => {
    const { fetch } = server({
      keys: [{ kty: 'RSA', n: 'x' }, ours, { kty: 'OKP', crv: 'X25519', x: X }, {}],
    });
    expect(await publicKeys('https://example.com/jwks', { fetch })()).toEqual([
      'whpk_11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=',
    ]);
  });

  it('reads them once for all calls, and again when they are old', async () => {
    const { calls, fetch } = server({ keys: [ours] });
    const kept = publicKeys('https://example.com/jwks', { fetch });
    await Promise.all([kept(), kept()]);
    await kept();
    expect(calls).toHaveLength(1);
    const never = publicKeys('https://example.com/jwks', { fetch, maxAge: 0 });
    await never();
    await never();
    expect(calls).toHaveLength(3);
  });

  it('uses the known keys on if they cannot be read, and else fails', async () => {
    const { fetch } = server({ keys: [ours] }, 503);
    const keys = publicKeys('https://example.com/jwks', { fetch, maxAge: 0 });
    expect(await keys()).toEqual(await keys());
    for (const answer of [404, {}, { keys: 'none' }])
      await expect(publicKeys('https://example.com/jwks', server(answer))()).rejects.toThrow('keys');
  });
});
