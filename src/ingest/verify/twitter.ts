import { isObject } from '../../platform/json/is-object.ts';
/**
 * Twitter's challenge (CRC) answers any `crc_token` with its digest under the same secret and scheme that
 * sign the webhooks. An unrestricted challenge would therefore sign forged bodies. So a token is answered
 * only if it looks like one, and a body that looks like a token is refused. Real bodies are JSON objects and
 * never do.
 */
import { hmacVerifier } from './hmac.ts';
import { compileSigner } from './signature.ts';
import { refused, type Verifier } from './verifier.ts';

const tokenShape = /^[A-Za-z0-9+/=_-]{1,256}$/;

export function twitterVerifier(secret: string): Verifier {
  const verify = hmacVerifier({
    header: 'x-twitter-webhooks-signature',
    hash: 'SHA256',
    encoding: 'base64',
    prefix: 'sha256=',
    secret,
  });
  return (request, nowMs) =>
    request.body.length <= 256 && tokenShape.test(request.body.toString('latin1'))
      ? refused('the body looks like a challenge token, which anyone can have signed')
      : verify(request, nowMs);
}

/** The answer to `GET ?crc_token=`. Null if the token does not look like Twitter's, or without a secret. */
export function twitterCrcResponse(secret: string, token: string): { response_token: string } | null {
  if (secret === '' || !tokenShape.test(token)) return null;
  return { response_token: `sha256=${compileSigner('SHA256', 'base64', secret).sign(token)}` };
}

/**
 * Account Activity names the event by a field next to `for_user_id`: `tweet_create_events`,
 * `direct_message_events`, `follow_events`, `user_event` and so on. A request has one of them.
 */
export function twitterEventType(payload: unknown): string | null {
  if (!isObject(payload)) return null;
  return Object.keys(payload).find((name) => /^[a-z_]{1,100}_events?$/.test(name)) ?? null;
}
