import type { BulkEvent, NextTarget } from './chaos-load.ts';
import { CHARACTERS, type Character, profileOf } from './characters.ts';
import { seeded } from './fault-schedule.ts';
import type { ReceiverProcess } from './receiver/receiver-process.ts';

/**
 * Chooses the next event. Busy endpoints come first: enough of their events wait to fill a few windows of
 * their limit, so that they never run out of work and the rest is sent soon after the run. The others are
 * chosen at random, from the seed.
 */
export interface MixOptions {
  path: string;
  endpoints: Map<Character, string>;
  receiver: ReceiverProcess;
  seed: number;
}

/** Windows of its limit that a busy endpoint has work for. */
const WINDOWS_AHEAD = 5;
const ORDERING_KEYS = 5;
/** A key sends one after another, so more events need more keys. */
const BULK_ORDERING_KEYS = 300;
const BUSY = CHARACTERS.filter((name) => profileOf(name).isBusy);

export function createMix({ path, endpoints, receiver, seed }: MixOptions): NextTarget {
  const random = seeded(seed + 1);
  return (n, accepted) => {
    const data = { n, text: 'x'.repeat(Math.floor(random() * 400)) };
    const create = (name: Character) => ({
      path: `${path}/events`,
      body: { endpoint_id: endpoints.get(name), event_type: name, data },
      isRepeatable: false,
    });
    const broadcast = (type: string, key?: string) => ({
      path: `${path}/events/broadcast`,
      body: { event_type: type, data, ...(key !== undefined && { idempotency_key: key }) },
      isRepeatable: key !== undefined,
    });
    const ordered = (name: 'ordered' | 'batched', key: number) => {
      const account = `${name}-${key % ORDERING_KEYS}`;
      return {
        path: `${path}/events`,
        body: { endpoint_id: endpoints.get(name), event_type: name, data: { ...data, account } },
        isRepeatable: false,
        orderingKey: account,
      };
    };
    const wanting = wantingWork(receiver, accepted);
    if (wanting !== undefined) return create(wanting);
    const dice = random();
    if (dice < 0.06) return broadcast('all');
    if (dice > 0.8) return ordered(dice > 0.9 ? 'ordered' : 'batched', Math.floor(dice * 1_000));
    if (dice < 0.3) return broadcast('healthy', `key-${n}`);
    if (dice < 0.36) return create('slow');
    if (dice < 0.4) return create('sparse');
    if (dice < 0.45) return create('once');
    if (dice < 0.5) return create('closing');
    if (dice < 0.65) return create('healthy');
    return broadcast('healthy');
  };
}

/**
 * The events of calls with many: none that waits for an endpoint that answers nothing, because a run at a high rate would
 * leave more of them than can be sent after it.
 */
export function createBulkMix({ endpoints, seed }: Omit<MixOptions, 'path' | 'receiver'>) {
  const random = seeded(seed + 2);
  return (n: number): BulkEvent => {
    const data = { n, text: 'x'.repeat(Math.floor(random() * 400)) };
    const direct = (name: Character) => ({
      kind: 'direct',
      endpoint_id: endpoints.get(name),
      event_type: name,
    });
    const dice = random();
    if (dice < 0.1) {
      const name = dice < 0.06 ? 'ordered' : 'batched';
      const account = `bulk-${name}-${Math.floor(random() * BULK_ORDERING_KEYS)}`;
      return { body: { ...direct(name), data: { ...data, account } }, orderingKey: account };
    }
    if (dice < 0.12) return { body: { ...direct('slow'), data } };
    if (dice < 0.14) return { body: { ...direct('once'), data } };
    if (dice < 0.16) return { body: { ...direct('closing'), data } };
    if (dice < 0.2) return { body: { ...direct('continuing'), data } };
    if (dice < 0.6) return { body: { ...direct('healthy'), data } };
    return { body: { kind: 'broadcast', event_type: 'healthy', data } };
  };
}

/** A busy endpoint that needs more work: too few of its events were accepted and have not arrived. */
function wantingWork(
  receiver: ReceiverProcess,
  accepted: ReadonlyMap<string, number>,
): Character | undefined {
  return BUSY.find((name) => {
    const waiting = (accepted.get(name) ?? 0) - receiver.arrivedAt(name);
    return waiting < WINDOWS_AHEAD * profileOf(name).limit!.count;
  });
}
