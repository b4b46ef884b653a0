import { randomUUID } from 'node:crypto';
import { verifyWebhook, WebhookError } from '../../../client/src/posthorn.ts';
import { StartupError, usageError } from '../../platform/startup-error.ts';
import { compileSigner } from '../../signing/sign-delivery.ts';
import type { Given } from '../terminal/command.ts';
import { readData, readInput, readSecret } from '../terminal/input.ts';
import { line, printJson } from '../terminal/output.ts';

/** Prints the headers that a delivery of this body would have. Nothing is sent. */
export async function sign(given: Given): Promise<void> {
  const body = await bodyOf(given);
  const seconds = given.count('timestamp') ?? Math.floor(Date.now() / 1000);
  const signer = compileSigner({
    schemes: ['standard', 'convoy'],
    header: 'X-Convoy-Signature',
    versions: [{ hash: 'SHA256', encoding: 'hex' }],
    advanced: !given.has('simple'),
    secrets: [{ value: await secretOf(given), expiresAt: null }],
  });
  const headers = signer.headers({
    id: given.text('id') ?? randomUUID(),
    timestampSeconds: seconds,
    nowMs: seconds * 1000,
    body,
  });
  if (given.has('json')) printJson(Object.fromEntries(headers));
  else for (const [name, value] of headers) line(`${name}: ${value}`);
}

/** Checks the signature of a webhook that was received. Nothing is called. */
export async function verify(given: Given): Promise<void> {
  const secret = await secretOf(given);
  const file = given.text('headers');
  const text = file === undefined ? '' : (await readInput(file)).toString('utf8').trim();
  if (file !== undefined && text === '') throw usageError(`${file} has no headers; give one a line`);
  const listed = text === '' ? [] : text.split('\n');
  const headers = [...listed, ...given.texts('header')].map((header): [string, string] => {
    const [, name, value] = /^([^:\s]+):\s*(.*?)\r?$/.exec(header) ?? [];
    if (name === undefined || value === undefined) throw usageError('a header is given as "Name: value"');
    return [name.toLowerCase(), value];
  });
  const tolerance = given.has('any-time') ? Number.MAX_SAFE_INTEGER : (given.count('tolerance') ?? 300);
  try {
    const webhook = await verifyWebhook(
      { headers: Object.fromEntries(headers), body: await bodyOf(given) },
      secret,
      {
        tolerance,
        schemes: given.has('simple') ? ['standard', 'convoy', 'convoy-simple'] : ['standard', 'convoy'],
      },
    );
    line(
      `The signature is right (scheme ${webhook.scheme}${webhook.id === undefined ? '' : `, id ${webhook.id}`}).`,
    );
  } catch (error) {
    if (!(error instanceof WebhookError)) throw error;
    throw new StartupError(`the signature does not hold: ${error.message}`, { cause: error });
  }
}

/** The exact bytes. */
async function bodyOf(given: Given): Promise<Buffer> {
  const body = await readData(given);
  if (body === undefined) throw usageError('--data is required: the body as text, @FILE, or - for stdin');
  return body;
}

function secretOf(given: Given): Promise<string> {
  return readSecret(given.required('secret'), given.env);
}
