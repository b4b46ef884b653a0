import { isConnectionHeader } from '../../domain/http-header.ts';

/** The local answer to a delivery, as a result tells it to the service. */
export interface Forwarded {
  ok: boolean;
  reason?: string;
  status?: number;
  headers?: Record<string, string>;
  /** base64, 50 KiB at most. */
  body?: string;
  ms: number;
}

/** Below the lease of 30 s, so that the result arrives in time. */
export const MAX_TIMEOUT_SECONDS = 25;
/** The service takes no more of an answer. */
const MAX_BODY_BYTES = 51_200;
const MAX_HEADER = 8_192;
const MAX_REASON = 1_024;

/** Sends a delivery to a local program: the same bytes, with the same signatures. A redirect counts as an answer. */
export async function forward(
  url: string,
  request: { headers: Readonly<Record<string, string>>; body: Buffer; timeoutSeconds: number },
): Promise<Forwarded> {
  const { headers, body, timeoutSeconds } = request;
  const began = performance.now();
  const passed = () => Math.round((performance.now() - began) * 10) / 10;
  try {
    const response = await fetch(url, {
      method: 'POST',
      // The connection is another one here.
      headers: Object.entries(headers).filter(([name]) => !isConnectionHeader(name)),
      body: new Uint8Array(body),
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutSeconds * 1000),
    });
    const answer = await readSome(response);
    const { status } = response;
    return {
      ok: response.ok,
      ...(!response.ok && { reason: `the local program answered ${status}` }),
      status,
      headers: Object.fromEntries(
        [...response.headers].map(([name, value]) => [name, value.slice(0, MAX_HEADER)]),
      ),
      body: answer.toString('base64'),
      ms: passed(),
    };
  } catch (error) {
    return { ok: false, reason: reasonOf(error, timeoutSeconds).slice(0, MAX_REASON), ms: passed() };
  }
}

/** The beginning of an answer. The rest is not read. */
async function readSome(response: Response): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  if (response.body === null) return Buffer.alloc(0);
  for await (const chunk of response.body) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes >= MAX_BODY_BYTES) break;
  }
  return Buffer.concat(chunks).subarray(0, MAX_BODY_BYTES);
}

function reasonOf(error: unknown, timeoutSeconds: number): string {
  const { name, message, cause } = error as Error;
  if (name === 'TimeoutError') return `the local program did not answer within ${timeoutSeconds} s`;
  const why = cause instanceof Error && cause.message !== '' ? cause.message : message;
  return `the local program cannot be reached: ${why}`;
}
