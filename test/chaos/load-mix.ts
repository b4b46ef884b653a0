import type { NextTarget } from './chaos-load.ts';
import type { ChaosReceiver } from './chaos-receiver.ts';
import { CHARACTERS, type Character, profileOf } from './characters.ts';
import { seeded } from './fault-schedule.ts';

/**
 * Chooses the next event. Busy endpoints come first: enough of their events wait to fill a few windows of
 * their limit, so that they never run out of work and the rest is sent soon after the run. The others are
 * chosen at random, from the seed.
 */
export interface MixOptions {
  path: string;
  endpoints: Map<Character, string>;
  receiver: ChaosReceiver;
  seed: number;
}

/** Windows of its limit that a busy endpoint has work for. */
const WINDOWS_AHEAD = 5;
const ORDERING_KEYS = 5;
const BUSY = CHARACTERS.filter((name) => profileOf(name).isBusy);

export function createMix(options: MixOptions): NextTarget {
  const { path, endpoints } = options;
  const random = seeded(options.seed + 1);
  const backlog = new Backlog(options.receiver);
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
    const ordered = (account: string) => ({
      path: `${path}/events`,
      body: { endpoint_id: endpoints.get('ordered'), event_type: 'ordered', data: { ...data, account } },
      isRepeatable: false,
      orderingKey: account,
    });
    const wanting = backlog.next(accepted);
    if (wanting !== undefined) return create(wanting);
    const dice = random();
    if (dice < 0.06) return broadcast('all');
    if (dice > 0.9) return ordered(`account-${Math.floor(dice * 1_000) % ORDERING_KEYS}`);
    if (dice < 0.3) return broadcast('healthy', `key-${n}`);
    if (dice < 0.36) return create('slow');
    if (dice < 0.4) return create('sparse');
    if (dice < 0.45) return create('once');
    if (dice < 0.5) return create('closing');
    if (dice < 0.65) return create('healthy');
    return broadcast('healthy');
  };
}

/** How many events of each busy endpoint were accepted and have not arrived. */
class Backlog {
  readonly #receiver: ChaosReceiver;
  readonly #arrived = new Map(BUSY.map((name) => [name as string, new Set<string>()]));
  #seen = 0;

  constructor(receiver: ChaosReceiver) {
    this.#receiver = receiver;
  }

  /** A busy endpoint that needs more work. */
  next(accepted: ReadonlyMap<string, number>): Character | undefined {
    const { receipts } = this.#receiver;
    for (; this.#seen < receipts.length; this.#seen++) {
      const { character, deliveryId } = receipts[this.#seen]!;
      this.#arrived.get(character)?.add(deliveryId);
    }
    return BUSY.find((name) => {
      const waiting = (accepted.get(name) ?? 0) - this.#arrived.get(name)!.size;
      return waiting < WINDOWS_AHEAD * profileOf(name).limit!.count;
    });
  }
}
