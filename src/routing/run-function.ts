import type { LeasedDelivery } from '../domain/delivery.ts';
import { idTime } from '../domain/ids.ts';
import { payloadText } from '../domain/payload-text.ts';
import { functionVersion } from '../sandbox/contract.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import { functionFailure } from './function-failure.ts';

/** The result of a subscription's function on a delivery's body. */
export type FunctionRun =
  | { kind: 'body'; body: Buffer }
  /** A fault of the function: the delivery ends with it. */
  | { kind: 'failed'; reason: string }
  /** A fault of ours: it will run again. */
  | { kind: 'unavailable'; reason: string };

/** The event's id and time are its random seed and clock, so that a later attempt gives the same result. */
export async function runFunction(
  sandbox: Pick<Sandbox, 'run'>,
  code: string,
  delivery: Pick<LeasedDelivery, 'eventId' | 'projectId' | 'body' | 'contentType'>,
): Promise<FunctionRun> {
  const result = await sandbox.run({
    code,
    version: functionVersion(code),
    tenant: delivery.projectId,
    input: payloadText(delivery.body, delivery.contentType),
    seed: delivery.eventId,
    nowMs: idTime(delivery.eventId),
  });
  if (result.ok) return { kind: 'body', body: Buffer.from(result.output) };
  const reason = functionFailure('subscription', result.message);
  return result.ours ? { kind: 'unavailable', reason } : { kind: 'failed', reason };
}
