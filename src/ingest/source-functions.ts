import { AppError } from '../domain/errors.ts';
import { payloadText } from '../domain/payload-text.ts';
import { compactJson } from '../platform/json/cut-json.ts';
import { isTexts } from '../platform/json/is-object.ts';
import { functionFailure } from '../routing/function-failure.ts';
import { functionVersion } from '../sandbox/contract.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import type { SourceRow } from '../store/config/sources.ts';
import type { NewEvent } from './new-event.ts';

/**
 * Runs a source's functions on an event, for every kind of source, before it is matched: header_function on
 * the headers, body_function on the payload. A failure of a function becomes the failure of the event: it is
 * stored with the reason and can be replayed. A fault of ours refuses the event, so that its sender tries
 * again.
 */
export async function applySourceFunctions(
  sandbox: Sandbox,
  source: SourceRow,
  context: { event: NewEvent; seed: string; nowMs: number },
): Promise<NewEvent> {
  const run = (code: string, input: string) => runOne(sandbox, { ...context, code, input });
  let event = context.event;
  if (source.header_function !== '') {
    const result = await run(source.header_function, JSON.stringify(flatHeaders(event.headers)));
    const headers = result.ok ? parseHeaders(result.output) : null;
    if (headers === null)
      return failed(event, result.ok ? 'header_function must return an object of strings' : result.message);
    event = withHeaders(event, headers, source.forward_headers);
  }
  if (source.body_function !== '') {
    const result = await run(source.body_function, payloadText(event.payload, event.contentType));
    if (!result.ok) return failed(event, result.message);
    event = { ...event, payload: compactJson(result.output), contentType: null };
  }
  return event;
}

type Run = { ok: true; output: string } | { ok: false; message: string };

async function runOne(
  sandbox: Sandbox,
  call: { code: string; input: string; event: NewEvent; seed: string; nowMs: number },
): Promise<Run> {
  const { code, input, event, seed, nowMs } = call;
  const result = await sandbox.run({
    code,
    version: functionVersion(code),
    tenant: event.projectId,
    input,
    seed,
    nowMs,
  });
  if (!result.ok && result.ours) throw new AppError('overloaded', { retry: 1 });
  return result;
}

function failed(event: NewEvent, message: string): NewEvent {
  return { ...event, functionFailure: functionFailure('source', message) };
}

function flatHeaders(headers: NewEvent['headers']): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, values]) => [name, values.join(', ')]));
}

function parseHeaders(output: string): Record<string, string[]> | null {
  const value: unknown = JSON.parse(output);
  if (!isTexts(value)) return null;
  return Object.fromEntries(Object.entries(value).map(([name, text]) => [name, [text]]));
}

/** An incoming webhook forwards the listed ones of the headers a function returned, an API event all. */
function withHeaders(
  event: NewEvent,
  headers: Record<string, string[]>,
  listed: readonly string[],
): NewEvent {
  if (event.forwardedHeaders === null) return { ...event, headers };
  const names = new Set(listed.map((name) => name.trim().toLowerCase()));
  const forwarded = Object.entries(headers).filter(([name]) => names.has(name.toLowerCase()));
  return { ...event, headers, forwardedHeaders: Object.fromEntries(forwarded) };
}
