import { generateKeyPairSync, randomBytes } from 'node:crypto';

const prefix = 'whsec_';
const secretChars = '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-';
const secretLength = 25;

/** 150 random bits: 64 characters divide a byte's 256 values evenly, so masking is unbiased. */
export function generateSecret(): string {
  let secret = '';
  for (const byte of randomBytes(secretLength)) secret += secretChars[byte & 63];
  return secret;
}

/** The HMAC key of the Standard Webhooks scheme. The Convoy scheme always takes the UTF-8 bytes. */
export function standardWebhooksKey(secret: string): Buffer {
  return decodePrefixed(secret) ?? Buffer.from(secret, 'utf8');
}

/** The secret in the form that standard Standard Webhooks libraries accept. */
export function standardWebhooksSecret(secret: string): string {
  return prefix + standardWebhooksKey(secret).toString('base64');
}

// Only canonical, padded, non-empty base64 counts as encoded, because every stock library decodes it to the
// same bytes. Anything else after the prefix is an ordinary secret that begins with the prefix by chance.
function decodePrefixed(secret: string): Buffer | null {
  if (!secret.startsWith(prefix)) return null;
  const encoded = secret.slice(prefix.length);
  const key = Buffer.from(encoded, 'base64');
  return key.length > 0 && key.toString('base64') === encoded ? key : null;
}

export function generateEd25519(): { privateKeyPem: string; publicKey: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const rawPublicKey = Buffer.from(publicKey.export({ format: 'jwk' }).x!, 'base64url');
  return {
    privateKeyPem: privateKey.export({ type: 'pkcs8', format: 'pem' }),
    publicKey: `whpk_${rawPublicKey.toString('base64')}`,
  };
}
