/*
 * The public keys of a project, for `verifyWebhook`. They are read when they are first needed and again after five
 * minutes: a key that is rolled signs along for longer. If they cannot be read, those that are known are used on.
 */
export interface PublicKeysOptions {
  /** Milliseconds after which they are read again; 300,000 by default. */
  maxAge?: number;
  fetch?: typeof fetch;
}

interface Jwk {
  kty?: unknown;
  crv?: unknown;
  x?: unknown;
}

/** `url`: `https://<service>/api/v1/projects/<project>/.well-known/jwks.json`. */
export function publicKeys(url: string | URL, options: PublicKeysOptions = {}): () => Promise<string[]> {
  const { maxAge = 300_000, fetch: call = fetch } = options;
  let known: { keys: string[]; until: number } | undefined;
  let reading: Promise<string[]> | undefined;
  const read = async (): Promise<string[]> => {
    try {
      const keys = await readKeys(url, call);
      known = { keys, until: Date.now() + maxAge };
      return keys;
    } catch (error) {
      if (known === undefined) throw error;
      return known.keys;
    } finally {
      reading = undefined;
    }
  };
  return async () => {
    if (known !== undefined && Date.now() < known.until) return known.keys;
    reading ??= read();
    return reading;
  };
}

async function readKeys(url: string | URL, call: typeof fetch): Promise<string[]> {
  const response = await call(url, { headers: { accept: 'application/jwk-set+json, application/json' } });
  if (!response.ok) throw new Error(`The keys cannot be read: ${response.status} from ${String(url)}.`);
  const { keys } = (await response.json()) as { keys?: Jwk[] };
  if (!Array.isArray(keys)) throw new Error(`There are no keys at ${String(url)}.`);
  return keys.flatMap(({ kty, crv, x }) =>
    kty === 'OKP' && crv === 'Ed25519' && typeof x === 'string' ? [`whpk_${padded(x)}`] : [],
  );
}

/** base64 of base64url. */
const padded = (text: string): string =>
  text
    .replaceAll('-', '+')
    .replaceAll('_', '/')
    .padEnd(Math.ceil(text.length / 4) * 4, '=');
