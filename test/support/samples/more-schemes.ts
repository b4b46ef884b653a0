import { createHmac, generateKeyPairSync, sign } from 'node:crypto';

/** Requests to the ingest URL of `url` at `seconds`, signed as each of the later presets documents it. */
interface SignedSample {
  provider: string;
  secret: string;
  /** Headers that must all be present and intact. The first carries the signature. */
  headers: Record<string, string>;
  /** A list of signatures: a repeated one is legal. */
  isList?: true;
}

export interface Signing {
  secret: string;
  body: string;
  url: string;
  seconds: string;
}

const pair = generateKeyPairSync('ed25519');
/** The key of a Discord application, as its page shows it. */
export const DISCORD_KEY = Buffer.from(
  pair.publicKey.export({ format: 'jwk' }).x ?? '',
  'base64url',
).toString('hex');

export function moreSchemes({ secret, body, url, seconds }: Signing): SignedSample[] {
  const sha256 = (text: string) => createHmac('sha256', secret).update(text);
  const hex = (text: string) => sha256(text).digest('hex');
  const base64 = (text: string) => sha256(text).digest('base64');
  const sha1 = createHmac('sha1', secret).update(body).digest('hex');
  const ms = `${seconds}000`;
  const discord = sign(null, Buffer.from(seconds + body), pair.privateKey).toString('hex');
  return [
    {
      provider: 'paddle',
      secret,
      headers: { 'paddle-signature': `ts=${seconds};h1=${hex(`${seconds}:${body}`)}` },
    },
    {
      provider: 'zoom',
      secret,
      headers: { 'x-zm-signature': `v0=${hex(`v0:${seconds}:${body}`)}`, 'x-zm-request-timestamp': seconds },
    },
    {
      provider: 'discord',
      secret: DISCORD_KEY,
      headers: { 'x-signature-ed25519': discord, 'x-signature-timestamp': seconds },
    },
    { provider: 'linear', secret, headers: { 'linear-signature': hex(body) } },
    { provider: 'typeform', secret, headers: { 'typeform-signature': `sha256=${base64(body)}` } },
    {
      provider: 'hubspot',
      secret,
      headers: {
        'x-hubspot-signature-v3': base64(`POST${url}${body}${ms}`),
        'x-hubspot-request-timestamp': ms,
      },
    },
    { provider: 'square', secret, headers: { 'x-square-hmacsha256-signature': base64(url + body) } },
    { provider: 'intercom', secret, headers: { 'x-hub-signature': `sha1=${sha1}` } },
    { provider: 'pagerduty', secret, headers: { 'x-pagerduty-signature': `v1=${hex(body)}` }, isList: true },
    {
      provider: 'calendly',
      secret,
      headers: { 'calendly-webhook-signature': `t=${seconds},v1=${hex(`${seconds}.${body}`)}` },
    },
  ];
}
