import { createPrivateKey } from 'node:crypto';
import { compileSigner, type SigningSecret } from '../../src/signing/sign-delivery.ts';
import {
  generateEd25519,
  generateSecret,
  standardWebhooksSecret,
} from '../../src/signing/signing-secrets.ts';

/** One request as a receiver sees it, and whether the function named by `check` should accept it. */
export interface SignatureCase {
  name: string;
  check: 'standard' | 'convoy' | 'simple' | 'ed25519';
  headers: Record<string, string>;
  body: Buffer;
  /** The receiver's key: a secret, a whsec_ secret or a whpk_ public key. */
  secret: string;
  accepted: boolean;
}

const convoyHeader = 'x-convoy-signature';
const oldSecret = generateSecret();
const newSecret = 'a secret with spaces and ümlauts';
const keyPair = generateEd25519();
const receiverSecret = {
  standard: standardWebhooksSecret(newSecret),
  convoy: newSecret,
  simple: newSecret,
  ed25519: keyPair.publicKey,
} as const;
const body = Buffer.from('{"amount":10.50,"note":"Zoë \\u0041"}');

function signedHeaders(check: SignatureCase['check'], given: { ageSeconds?: number; body?: Buffer } = {}) {
  const nowMs = Date.now();
  const secrets: SigningSecret[] = [
    { value: oldSecret, expiresAt: nowMs + 1 },
    { value: newSecret, expiresAt: null },
  ];
  const signer = compileSigner({
    schemes: ['convoy', 'standard'],
    header: convoyHeader,
    versions: [{ hash: 'SHA256', encoding: 'hex' }],
    advanced: check !== 'simple',
    secrets,
    ed25519: { privateKey: createPrivateKey(keyPair.privateKeyPem) },
  });
  const timestampSeconds = Math.floor(nowMs / 1000) - (given.ageSeconds ?? 0);
  const input = { id: '01JC4Q6YF3M8T0V9Z2B7K5N1XD', timestampSeconds, nowMs, body: given.body ?? body };
  return Object.fromEntries(signer.headers(input));
}

function casesOf(check: SignatureCase['check']): SignatureCase[] {
  const secret = receiverSecret[check];
  const headers = signedHeaders(check);
  const signatureHeader = check === 'convoy' || check === 'simple' ? convoyHeader : 'webhook-signature';
  const signature = headers[signatureHeader]!;
  // Every signature of the list loses its end; the time is too short to be touched.
  const cut = signature.replaceAll(/[\w+/=]{20}(?=[ ,]|$)/g, '');
  const good = { check, headers, body, secret, accepted: true };
  const bad = { ...good, accepted: false };
  const bytes = Buffer.from([0x00, 0xff, 0x80, 0x0a]);
  const cases: SignatureCase[] = [
    { ...good, name: 'a delivery' },
    {
      ...good,
      name: 'an empty body',
      body: Buffer.alloc(0),
      headers: signedHeaders(check, { body: Buffer.alloc(0) }),
    },
    { ...good, name: 'bytes that are not text', body: bytes, headers: signedHeaders(check, { body: bytes }) },
    { ...bad, name: 'a changed body', body: Buffer.from(body.toString().replace('10.50', '99.50')) },
    {
      ...bad,
      name: 'a body that was parsed and rewritten',
      body: Buffer.from(JSON.stringify(JSON.parse(body.toString()))),
    },
    { ...bad, name: 'a cut signature', headers: { ...headers, [signatureHeader]: cut } },
    { ...bad, name: 'an empty signature', headers: { ...headers, [signatureHeader]: '' } },
    {
      ...bad,
      name: 'a signature that is not ASCII',
      headers: { ...headers, [signatureHeader]: `${signature.slice(0, 20)}é` },
    },
    { ...bad, name: 'no headers', headers: {} },
  ];
  if (check !== 'ed25519') {
    const other = check === 'standard' ? standardWebhooksSecret(generateSecret()) : generateSecret();
    cases.push({ ...bad, name: 'another secret', secret: other });
  } else {
    cases.push({ ...bad, name: 'another public key', secret: generateEd25519().publicKey });
  }
  return cases;
}

function timedCasesOf(check: 'standard' | 'convoy' | 'ed25519'): SignatureCase[] {
  const secret = receiverSecret[check];
  const at = (ageSeconds: number) => signedHeaders(check, { ageSeconds });
  const now = at(0);
  const seconds = Number(now['webhook-timestamp']);
  const retimed = {
    ...now,
    'webhook-timestamp': String(seconds + 1),
    [convoyHeader]: now[convoyHeader]!.replace(`t=${seconds}`, `t=${seconds + 1}`),
  };
  const untimed = (time: string) => ({
    ...now,
    'webhook-timestamp': time,
    [convoyHeader]: now[convoyHeader]!.replace(`t=${seconds}`, `t=${time}`),
  });
  const common = { check, body, secret };
  return [
    { ...common, name: 'a clock 4 minutes ahead', headers: at(240), accepted: true },
    { ...common, name: 'a clock 4 minutes behind', headers: at(-240), accepted: true },
    { ...common, name: 'a replay after 6 minutes', headers: at(360), accepted: false },
    { ...common, name: 'a time 6 minutes in the future', headers: at(-360), accepted: false },
    { ...common, name: 'a changed time', headers: retimed, accepted: false },
    ...['', 'Infinity', '-1', '1e9', `${seconds}.0`, '9'.repeat(40)].map((time) => ({
      ...common,
      name: `the time ${JSON.stringify(time)}`,
      headers: untimed(time),
      accepted: false,
    })),
  ];
}

const otherCases: SignatureCase[] = [
  {
    name: 'the old secret while it is being rolled',
    check: 'standard',
    headers: signedHeaders('standard'),
    body,
    secret: standardWebhooksSecret(oldSecret),
    accepted: true,
  },
  {
    name: 'the old secret while it is being rolled',
    check: 'convoy',
    headers: signedHeaders('convoy'),
    body,
    secret: oldSecret,
    accepted: true,
  },
  {
    name: 'another id',
    check: 'standard',
    headers: { ...signedHeaders('standard'), 'webhook-id': '01JC4Q6YF3M8T0V9Z2B7K5N1XE' },
    body,
    secret: receiverSecret.standard,
    accepted: false,
  },
];

export const signatureCases: readonly SignatureCase[] = [
  ...(['standard', 'convoy', 'simple', 'ed25519'] as const).flatMap(casesOf),
  ...(['standard', 'convoy', 'ed25519'] as const).flatMap(timedCasesOf),
  ...otherCases,
];
