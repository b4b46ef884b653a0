import { createInterface } from 'node:readline';
import { isObject } from '../../platform/json/is-object.ts';
import type { Given } from '../terminal/command.ts';
import { terminal } from '../terminal/terminal.ts';
import { type Connection, connectionOf } from './connect.ts';

/*
 * The Model Context Protocol on stdin and stdout, for assistants on this machine: a message a line. Each is passed on to
 * /mcp of the service with the key of the connection, and its answer is printed. The tools are those of the service, so
 * they fit its version.
 */
const AT_A_TIME = 16;
const TIMEOUT_MS = 60_000;
const FAULT = -32603;
const META = 'io.modelcontextprotocol/protocolVersion';

export async function mcp(given: Given): Promise<void> {
  const connection = await connectionOf(given);
  const underWay = new Set<Promise<void>>();
  for await (const line of createInterface({ input: terminal().stdin })) {
    if (line.trim() === '') continue;
    const passed = pass(connection, line).finally(() => underWay.delete(passed));
    underWay.add(passed);
    if (underWay.size >= AT_A_TIME) await Promise.race(underWay);
  }
  await Promise.all(underWay);
}

async function pass(connection: Connection, line: string): Promise<void> {
  const answer = await call(connection, line).catch((error: Error) =>
    failure(line, unreachable(connection, error)),
  );
  // A notification has none.
  if (answer !== '') terminal().stdout.write(`${answer}\n`);
}

async function call({ url, key, project }: Connection, line: string): Promise<string> {
  const address = new URL(`${url.replace(/\/+$/, '')}/mcp`);
  if (project !== undefined) address.searchParams.set('project_id', project);
  const response = await fetch(address, {
    method: 'POST',
    redirect: 'error',
    signal: AbortSignal.timeout(TIMEOUT_MS),
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...mirrored(line),
    },
    body: line,
  });
  const text = await response.text();
  return isAnswer(text) || text === '' ? text.trim() : failure(line, refusal(response.status, text));
}

/** The current revision wants parts of the message in headers. */
function mirrored(line: string): Record<string, string> {
  const { method, params } = parsed(line);
  const { _meta: meta, name } = isObject(params) ? params : {};
  const revision = isObject(meta) ? meta[META] : undefined;
  if (typeof revision !== 'string' || typeof method !== 'string') return {};
  const named = typeof name === 'string' ? { 'mcp-name': encoded(name) } : {};
  return { 'mcp-protocol-version': revision, 'mcp-method': method, ...named };
}

const encoded = (name: string): string =>
  /^[\x21-\x7e]+$/.test(name) ? name : `=?base64?${Buffer.from(name).toString('base64')}?=`;

function parsed(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}

const isAnswer = (text: string): boolean => parsed(text)['jsonrpc'] === '2.0';

function refusal(status: number, text: string): string {
  const { message } = parsed(text);
  if (status === 404) return 'The service has no /mcp. Start it with POSTHORN_MCP=on.';
  return typeof message === 'string' ? message : `The service answered ${status}.`;
}

const unreachable = ({ url }: Connection, { message, cause }: Error): string =>
  `The service at ${url} does not answer: ${cause instanceof Error ? cause.message : message}.`;

/** An error for the assistant. A line without an id is a notification, which has no answer. */
function failure(line: string, message: string): string {
  const { id } = parsed(line);
  return id === undefined ? '' : JSON.stringify({ jsonrpc: '2.0', id, error: { code: FAULT, message } });
}
