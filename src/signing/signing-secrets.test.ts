import { createPrivateKey, createPublicKey, sign, verify } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import {
  generateEd25519,
  generateSecret,
  standardWebhooksKey,
  standardWebhooksSecret,
} from './signing-secrets.ts';

describe('generateSecret', () => {
  it('makes 25 characters of the alphabet, different every time', () => {
    const secrets = Array.from({ length: 500 }, generateSecret);
    for (const secret of secrets) expect(secret).toMatch(/^[0-9a-zA-Z_-]{25}$/);
    expect(new Set(secrets).size).toBe(500);
    // 12,500 draws miss one of 64 characters with a chance below 1e-80.
    expect(new Set(secrets.join('')).size).toBe(64);
  });
});

describe('standardWebhooksSecret', () => {
  it('is whsec_ and the base64 of the UTF-8 bytes', () => {
    expect(standardWebhooksSecret('secret')).toBe('whsec_c2VjcmV0');
    expect(standardWebhooksSecret('sécret')).toBe('whsec_c8OpY3JldA==');
  });

  it('leaves a secret alone that already has the form', () => {
    const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
    expect(standardWebhooksSecret(secret)).toBe(secret);
    expect(standardWebhooksKey(secret)).toEqual(Buffer.from('MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'base64'));
  });

  it.each([
    'whsec_',
    'whsec_not base64!',
    'whsec_c2VjcmV0MQ',
    'whsec_c2Vj\n',
    'whsec_-_-_',
    'WHSEC_c2VjcmV0',
  ])('takes %j as plain text, since libraries disagree on how to decode it', (secret) => {
    expect(standardWebhooksKey(secret)).toEqual(Buffer.from(secret));
    expect(standardWebhooksSecret(secret)).toBe(`whsec_${Buffer.from(secret).toString('base64')}`);
  });
});

describe('generateEd25519', () => {
  it('makes a key pair whose public half verifies signatures of the private half', () => {
    const { privateKeyPem, publicKey } = generateEd25519();
    expect(publicKey).toMatch(/^whpk_[A-Za-z0-9+/]{43}=$/);
    const message = Buffer.from('message');
    const signature = sign(null, message, createPrivateKey(privateKeyPem));
    const x = Buffer.from(publicKey.slice('whpk_'.length), 'base64').toString('base64url');
    const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
    expect(verify(null, message, key, signature)).toBe(true);
    expect(verify(null, Buffer.from('massage'), key, signature)).toBe(false);
  });

  it('makes another pair every time', () => {
    expect(generateEd25519().publicKey).not.toBe(generateEd25519().publicKey);
  });
});
