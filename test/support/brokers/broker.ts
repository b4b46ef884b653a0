import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { inject } from 'vitest';
import { isStrict } from '../suite/parts.ts';

const POLL_MS = 100;
/** With a cold cache what a broker needs is fetched first. */
const MAX_WAIT_MS = 900_000;

/**
 * The description of the broker of this run, once it is ready. A string: why there is none on this machine. In a
 * strict run a missing broker is an error.
 */
export async function brokerFacts<Facts>(kind: string): Promise<Facts | string> {
  const file = join(inject('brokersDir'), `${kind}.json`);
  const deadline = performance.now() + MAX_WAIT_MS;
  while (!existsSync(file)) {
    if (performance.now() > deadline) throw new Error(`the broker ${kind} does not get ready`);
    await delay(POLL_MS);
  }
  const { facts, problem } = JSON.parse(readFileSync(file, 'utf8')) as { facts?: Facts; problem?: string };
  if (facts !== undefined) return facts;
  const reason = `the broker ${kind} cannot be started: ${problem}`;
  if (isStrict) throw new Error(reason);
  return reason;
}
