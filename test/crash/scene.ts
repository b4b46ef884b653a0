import { expect, type TestContext } from 'vitest';
import { subscribe } from '../support/app.ts';
import { eventually } from '../support/eventually.ts';
import { ask, clientOf, type Program, readCredentials } from '../support/program.ts';
import { temporaryFolder } from '../support/samples/temporary-folder.ts';
import { Receiver } from '../support/servers/receiver.ts';
import { serve } from '../support/servers/serve.ts';

/** A receiver in this process and the real program in another, on a data directory that outlives it. */
export interface Scene {
  dataDir: string;
  receiver: Receiver;
  /** Starts the program (again) on the data directory and waits until it is ready. */
  start(env?: Record<string, string>): Promise<Program>;
  /** Calls of the program that was started last. */
  client(program: Program): Promise<ReturnType<typeof clientOf>>;
}

/** Long enough that a kill finds deliveries under way, short enough to keep the load moving. */
const ANSWER_AFTER_MS = 15;

export async function setScene({ onTestFinished }: TestContext): Promise<Scene> {
  const dataDir = temporaryFolder(onTestFinished);
  const receiver = await Receiver.start();
  onTestFinished(() => receiver.stop());
  receiver.answerAlways((_request, response) => {
    setTimeout(() => response.writeHead(200).end('ok'), ANSWER_AFTER_MS);
  });
  return {
    dataDir,
    receiver,
    start: async (env = {}) => {
      const program = serve({ POSTHORN_DATA_DIR: dataDir, ...env }, onTestFinished);
      await program.ready();
      return program;
    },
    client: async (program) => clientOf(await program.ready(), readCredentials(dataDir)),
  };
}

/** Subscribes the receiver; deliveries name their event, so that they can be counted by its id. */
export async function subscribeReceiver(scene: Scene, program: Program): Promise<void> {
  const client = await scene.client(program);
  await client.put('', { name: 'default', config: { add_event_id_trace_headers: true } });
  await subscribe(client, scene.receiver.url, { eventTypes: ['load'] });
}

/** How often each event came in. */
export function arrivals(receiver: Receiver): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { headers } of receiver.requests) {
    const id = String(headers['x-convoy-event-id']);
    counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  return counts;
}

/**
 * The invariant once everything has settled: each accepted event is delivered, each delivery has ended in one
 * state, and none was sent again after its outcome had been recorded (one attempt each, however often it arrived).
 */
export async function expectNothingLost(
  query: (sql: string) => Promise<object[]>,
  accepted: ReadonlySet<string>,
  receiver: Receiver,
): Promise<void> {
  const open = () => query('select count(*)::int as open from delivery_queue');
  await eventually(open, ([row]) => (row as { open: number }).open === 0);
  const arrived = arrivals(receiver);
  expect([...accepted].filter((id) => !arrived.has(id))).toEqual([]);
  expect(await query('select distinct status from event_deliveries')).toEqual([{ status: 'Success' }]);
  const events = (await query('select event_id as id from event_deliveries')) as { id: string }[];
  expect(new Set(events.map(({ id }) => id)).size).toBe(events.length);
  const known = new Set(events.map(({ id }) => id));
  expect([...accepted, ...arrived.keys()].filter((id) => !known.has(id))).toEqual([]);
  const attempts = `select count(*)::int as deliveries from (
    select delivery_id from attempts where not is_stale group by 1 having count(*) <> 1) a`;
  expect(await query(attempts)).toEqual([{ deliveries: 0 }]);
}

export const askingOf = (program: Program) => (sql: string) => ask(program, sql);
