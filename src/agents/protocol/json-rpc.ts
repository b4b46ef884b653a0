import { isObject } from '../../platform/json/is-object.ts';
import { parseInSlices } from '../../platform/json/parse-in-slices.ts';

/** Messages of JSON-RPC 2.0, as far as MCP uses them: one request or notification a call, no batches. */
export interface RpcRequest {
  id: string | number;
  method: string;
  params: Record<string, unknown>;
}

/** The id is null: a notification, which has no answer. */
export interface RpcMessage extends Omit<RpcRequest, 'id'> {
  id: string | number | null;
}

export const RPC = {
  parse: -32700,
  request: -32600,
  method: -32601,
  params: -32602,
  internal: -32603,
  headers: -32020,
  revision: -32022,
} as const;

/** A refusal of a request, with a status where HTTP has one for it. */
export class RpcError extends Error {
  override name = 'RpcError';
  readonly code: number;
  readonly data: Record<string, unknown> | undefined;
  readonly httpStatus: number;

  constructor(
    code: number,
    message: string,
    { data, httpStatus = 200 }: { data?: Record<string, unknown>; httpStatus?: number } = {},
  ) {
    super(message);
    this.code = code;
    this.data = data;
    this.httpStatus = httpStatus;
  }
}

export const invalidParams = (message: string) => new RpcError(RPC.params, message);

export async function parseMessage(body: Buffer): Promise<RpcMessage> {
  const message = await parsed(body.toString());
  const bad = (text: string) => new RpcError(RPC.request, text, { httpStatus: 400 });
  if (Array.isArray(message)) throw bad('Batches are not supported. Send one message a request.');
  if (!isObject(message) || message['jsonrpc'] !== '2.0')
    throw bad('The body is not a message of JSON-RPC 2.0.');
  const { id = null, method, params = {} } = message;
  if (typeof method !== 'string') throw bad('The message has no method. Responses are not accepted.');
  if (id !== null && typeof id !== 'string' && !Number.isInteger(id))
    throw bad('The id must be text or a whole number.');
  if (!isObject(params)) throw bad('params must be an object.');
  return { id: id as RpcMessage['id'], method, params };
}

async function parsed(text: string): Promise<unknown> {
  try {
    return await parseInSlices(text);
  } catch {
    throw new RpcError(RPC.parse, 'The body is not JSON.', { httpStatus: 400 });
  }
}

export const resultMessage = (id: string | number, result: object) => ({ jsonrpc: '2.0', id, result });

export const errorMessage = (id: string | number | null, { code, message, data }: RpcError) => ({
  jsonrpc: '2.0',
  ...(id !== null && { id }),
  error: { code, message, ...(data !== undefined && { data }) },
});
