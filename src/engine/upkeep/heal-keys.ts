import type { Database } from '../../store/database/database.ts';
import type { Released } from '../../store/ordering/release-next.ts';
import { healKeys, type Place, type StuckKey, stuckKeys } from '../../store/ordering/stuck-keys.ts';
import type { Duty } from './duty.ts';

/**
 * Looks for ordering keys whose deliveries would wait for ever, and lets their next deliveries go. A run looks at so many
 * keys at most, and the next one goes on from there.
 */
const PAGES_PER_RUN = 200;

export interface HealKeysDeps {
  db: Database;
  /** The next deliveries of ordering keys are due. */
  released(places: readonly Released[]): void;
  duty: Duty;
}

export interface HealedKeys {
  /** Keys without a head that could be sent. */
  lost: number;
  /** Where the next run begins. */
  next: Place | null;
}

export async function healStuckKeys(
  { db, released, duty }: HealKeysDeps,
  from: Place | null,
  signal: AbortSignal,
): Promise<HealedKeys> {
  const healed: HealedKeys = { lost: 0, next: from };
  for (let page = 0; page < PAGES_PER_RUN && !signal.aborted; page++) {
    const { stuck, next } = await stuckKeys(db, healed.next);
    await duty.eachProject({
      find: async () => stuck,
      act: async (_, keys) => {
        released(await heal(db, keys));
        healed.lost += keys.filter(({ state }) => state === 'lost').length;
      },
      signal,
    });
    healed.next = next;
    if (next === null) break;
  }
  return healed;
}

async function heal(db: Database, stuck: readonly StuckKey[]): Promise<Released[]> {
  const places: Released[] = [];
  for (let healed = stuck.length; healed > 0; ) {
    const done = await db.transaction((tx) => healKeys(tx, stuck));
    places.push(...done.released);
    healed = done.healed;
  }
  return places;
}
