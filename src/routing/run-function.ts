import type { LeasedDelivery } from '../domain/delivery.ts';
import { idTime } from '../domain/ids.ts';
import { payloadText } from '../domain/payload-text.ts';
import { type FunctionResult, functionVersion, functionFailure as ofCode } from '../sandbox/contract.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import { functionContract } from './function-contract.ts';
import { functionCancelled, functionFailure } from './function-failure.ts';
import type { FunctionRequest } from './function-request.ts';
import { hideValues } from './hidden-variables.ts';
import { readRequest } from './read-request.ts';

/** The result of a subscription's function on a delivery. */
export type FunctionRun =
  /** `body` is null if the payload is sent as it is, `request` if the function is of the first contract. */
  | { kind: 'made'; body: Buffer | null; request: FunctionRequest | null }
  /** The function wants no delivery. */
  | { kind: 'cancelled'; reason: string }
  /** A fault of the function: the delivery ends with it. */
  | { kind: 'failed'; reason: string }
  /** A fault of ours: it will run again. */
  | { kind: 'unavailable'; reason: string };

/** A function, and the variables that it may read. */
export interface CalledFunction {
  code: string;
  variables: Readonly<Record<string, string>>;
}

export interface FunctionSubject {
  projectId: string;
  eventId: string;
  eventType: string;
  /** JSON of the first argument. */
  input: string;
  nowMs: number;
}

/** The event's id and time are its random seed and clock, so that a later attempt gives the same result. */
export async function runFunction(
  sandbox: Pick<Sandbox, 'run'>,
  called: CalledFunction,
  delivery: Pick<LeasedDelivery, 'eventId' | 'projectId' | 'eventType' | 'body' | 'contentType'>,
): Promise<FunctionRun> {
  const { eventId, body, contentType } = delivery;
  const subject = { ...delivery, input: payloadText(body, contentType), nowMs: idTime(eventId) };
  return functionRun(await callFunction(sandbox, called, subject), called);
}

/** Runs a function of either contract. */
export async function callFunction(
  sandbox: Pick<Sandbox, 'run'>,
  { code, variables }: CalledFunction,
  { projectId, eventId, eventType, input, nowMs }: FunctionSubject,
): Promise<FunctionResult> {
  const contract = functionContract(code);
  if (!contract.ok) return ofCode('syntax', contract.message);
  const { script, version } = contract;
  const context = JSON.stringify({ event_id: eventId, event_type: eventType, variables });
  return sandbox.run({
    code: script,
    version: functionVersion(script),
    tenant: projectId,
    input,
    seed: eventId,
    nowMs,
    ...(version === 2 && { context }),
  });
}

/** The meaning of a result, by the contract of the code. */
export function functionRun(result: FunctionResult, { code, variables }: CalledFunction): FunctionRun {
  const failed = (message: string) => functionFailure('subscription', hideValues(message, variables));
  if (!result.ok) return { kind: result.ours ? 'unavailable' : 'failed', reason: failed(result.message) };
  const contract = functionContract(code);
  if (!contract.ok || contract.version === 1)
    return { kind: 'made', body: Buffer.from(result.output), request: null };
  const read = readRequest(result.output, variables);
  if (read.kind === 'refused') return { kind: 'failed', reason: failed(read.message) };
  if (read.kind === 'cancelled') return { kind: 'cancelled', reason: functionCancelled(read.reason) };
  return { kind: 'made', body: read.body === null ? null : Buffer.from(read.body), request: read.request };
}
