import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { SecureContext } from 'node:tls';

/**
 * One request to a server that gives credentials. Its URL comes from the environment of this process or is the cloud's own,
 * and from nowhere else: so it is not subject to the egress rule, which is for addresses that tenants choose. That rule
 * stays as it is for all others.
 */
const LIMIT_MS = 5_000;
const MAX_BYTES = 65_536;

export interface Question {
  url: string;
  method?: 'GET' | 'PUT' | 'POST';
  headers?: Readonly<Record<string, string>>;
  body?: string;
}

/** The text of an answer with status 200. Redirects are not followed. */
export async function askServer(
  { url, method = 'GET', headers = {}, body = '' }: Question,
  secureContext: () => SecureContext,
): Promise<string> {
  const { status, text } = await exchange({ url, method, headers, body }, secureContext);
  if (status !== 200) throw new ServerRefused(status, text);
  return text;
}

export class ServerRefused extends Error {
  readonly status: number;
  readonly text: string;

  constructor(status: number, text: string) {
    super(`status ${status}`);
    this.status = status;
    this.text = text;
  }
}

async function exchange(
  { url, method, headers, body }: Required<Question>,
  secureContext: () => SecureContext,
): Promise<{ status: number; text: string }> {
  const signal = AbortSignal.timeout(LIMIT_MS);
  const length = { 'content-length': String(Buffer.byteLength(body)) };
  const options = { method, headers: { ...headers, ...length }, signal };
  // An agent of its own: the connection ends with the answer.
  const asked = url.startsWith('https:')
    ? httpsRequest(url, { ...options, agent: new HttpsAgent({ secureContext: secureContext() }) })
    : httpRequest(url, { ...options, agent: false });
  asked.on('error', () => undefined);
  asked.end(body);
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  let text = '';
  response.setEncoding('utf8');
  for await (const chunk of response as AsyncIterable<string>) {
    text += chunk;
    if (text.length > MAX_BYTES) throw new Error('the answer is too large');
  }
  return { status: response.statusCode ?? 0, text };
}
