import { expect, test } from 'vitest';
import { NOON } from '../../../test/support/samples/leased-delivery.ts';
import { routingOf } from '../../../test/support/samples/routing.ts';
import { asId, type ProjectId } from '../../domain/ids.ts';
import { wantedMoves } from './outages.ts';

const HOUR_MS = 3_600_000;
const last = { deliveryId: 'd', status: null, reason: 'it broke' };
const at = { projectId: asId<ProjectId>('p'), endpointId: 'e', seen: 7 };

/** The moves for an endpoint that has failed for so many hours, and was warned of so many hours ago. */
function moves(disable_after: string, hours: { failing: number; warned?: number }, has_succeeded = false) {
  const before = (count: number | undefined) => (count === undefined ? null : NOON - count * HOUR_MS);
  const { alerts, causes } = wantedMoves(routingOf({ config: { disable_after } }), {
    looks: [{ ...at, last }],
    outages: [
      { id: 'e', failing_since: before(hours.failing), warned_at: before(hours.warned), has_succeeded },
    ],
    nowMs: NOON,
  });
  return { alerts: alerts.map(({ kind, state }) => `${kind} ${state}`), disabled: [...causes.values()] };
}

const none = { alerts: [], disabled: [] };
const warned = { alerts: ['outage raised'], disabled: [] };

test.each([
  ['120h', 23.9, none],
  ['120h', 24, warned],
  ['120h', 1_000, warned],
  ['10h', 4.9, none],
  ['10h', 5, warned],
])('with %s, an endpoint that failed for %d h', (after, failing, expected) => {
  expect(moves(after, { failing })).toEqual(expected);
});

test.each([
  ['120h', 95.9, 0],
  ['120h', 96, 1],
  ['10h', 4.9, 0],
  ['10h', 5, 1],
])('with %s, an endpoint that was warned of %d h ago is disabled %i times', (after, hours, times) => {
  const { alerts, disabled } = moves(after, { failing: 1, warned: hours });
  expect(alerts).toEqual([]);
  const cause = { reason: `no attempt succeeded for ${after}`, last, seen: 7 };
  expect(disabled).toEqual(times === 0 ? [] : [cause]);
});

test('a success that another node saw clears the alert', () => {
  const cleared = { alerts: ['outage cleared'], disabled: [] };
  expect(moves('120h', { failing: 1, warned: 96 }, true)).toEqual(cleared);
});

test('a success of this node clears it, and a removed endpoint has no alert', () => {
  const looks = [
    { ...at, last: null },
    { ...at, endpointId: 'removed', last: null },
  ];
  const { alerts } = wantedMoves(routingOf({}), { looks, outages: [], nowMs: NOON });
  expect(alerts).toMatchObject([{ kind: 'outage', state: 'cleared', endpoint: { id: 'e' } }]);
});
