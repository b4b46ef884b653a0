import { expect, test } from 'vitest';
import type { ChaosLoad } from '../chaos-load.ts';
import type { Character } from '../characters.ts';
import type { Receipt } from '../receiver/chaos-receiver.ts';
import type { Stored } from '../stored.ts';
import { lostEvents } from './lost.ts';
import type { Seen } from './verdict.ts';

/** Constructed runs. An event has one delivery, with the same id. */
interface Made {
  character?: Character;
  isDuplicate?: true;
  /** These did not happen. */
  without?: ('event' | 'delivery' | 'acknowledgement')[];
}

function lostOf(made: Record<string, Made>): string[] {
  const all = Object.entries(made).map(([id, { character = 'healthy', without = [], ...rest }]) => ({
    id,
    event_id: id,
    event_type: character,
    endpoint_id: character,
    deliveryId: id,
    isAcknowledged: !without.includes('acknowledgement'),
    without,
    ...rest,
  }));
  const stored = {
    events: all.filter(({ without }) => !without.includes('event')),
    deliveries: all.filter(({ without }) => !without.includes('delivery')),
  };
  const load = {
    accepted: new Map(all.map((one) => [one.id, one])),
    duplicates: new Set(all.filter(({ isDuplicate }) => isDuplicate).map(({ id }) => id)),
  };
  const seen: Partial<Seen> = {
    load: load as unknown as ChaosLoad,
    receipts: all as unknown as Receipt[],
    characterOf: (id) => id as Character,
  };
  return lostEvents(stored as unknown as Stored, seen as Seen);
}

test('an event is lost that is not stored, has no delivery, or was never acknowledged', () => {
  const lost = lostOf({
    arrived: {},
    'not stored': { without: ['event', 'delivery', 'acknowledgement'] },
    'no delivery': { without: ['delivery'] },
    'not acknowledged': { without: ['acknowledgement'] },
  });
  expect(lost).toEqual(['not stored', 'no delivery', 'not acknowledged']);
});

test('a duplicate needs no delivery, and at most once no acknowledgement, but both are stored', () => {
  const lost = lostOf({
    duplicate: { isDuplicate: true, without: ['delivery', 'acknowledgement'] },
    'duplicate that is gone': { isDuplicate: true, without: ['event', 'delivery'] },
    once: { character: 'once', without: ['acknowledgement'] },
    'once without a delivery': { character: 'once', without: ['delivery'] },
  });
  expect(lost).toEqual(['duplicate that is gone', 'once without a delivery']);
});

test('an event for many endpoints is lost if one of them did not get it', () => {
  expect(lostOf({ one: { character: 'all' as Character } })).toEqual(['one']);
});
