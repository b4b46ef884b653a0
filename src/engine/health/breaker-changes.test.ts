import { describe, expect, test } from 'vitest';
import { NOON } from '../../../test/support/samples/leased-delivery.ts';
import { routingOf } from '../../../test/support/samples/routing.ts';
import { asId, type ProjectId } from '../../domain/ids.ts';
import { attemptsAskedFor, type Counts, type Finding, wantedChanges } from './breaker-changes.ts';

/** Ten attempts are enough to judge by, 70 % of failures open, 5 % of successes close: one probe. */
const routing = routingOf();
const last = { deliveryId: 'd', status: '500 Some', reason: 'it broke' };
const at = { projectId: asId<ProjectId>('p'), endpointId: 'e', seen: 7 };
const failing = { ...at, kind: 'failing', last } satisfies Finding;
const exhausted = { ...at, kind: 'exhausted', last } satisfies Finding;
const gone = {
  ...at,
  kind: 'gone',
  reason: 'it answered 410 Gone',
  last: { deliveryId: 'd', status: '410 Gone', reason: 'gone' },
} satisfies Finding;
const probe = { endpointId: 'e', fence: '3' };
const counted = (
  finding: typeof failing | typeof exhausted,
  successes: number,
  failures: number,
): Counts => ({
  attempts: new Map([[finding, { successes, failures }]]),
  probes: new Map(),
});
const nothing: Counts = { attempts: new Map(), probes: new Map() };
const none = { open: new Map(), close: [], disable: new Map() };

describe('a closed breaker', () => {
  test('opens where enough attempts failed', () => {
    expect(wantedChanges(routing, [failing], counted(failing, 3, 7))).toEqual({
      ...none,
      open: new Map([['e', { probe: null, last }]]),
    });
  });

  test.each([
    ['too few of them failed', 4, 6],
    ['there were too few', 0, 9],
  ])('stays closed where %s', (_, successes, failures) => {
    expect(wantedChanges(routing, [failing], counted(failing, successes, failures))).toEqual(none);
  });

  test('is judged by the attempts since it last changed', () => {
    const breaker = { state: 'closed', trips: 0, probes: 0, changedAtMs: NOON } as const;
    const changed = routingOf({ breaker });
    expect(attemptsAskedFor(changed, failing)).toEqual({ id: 'e', afterMs: NOON });
    expect(attemptsAskedFor(changed, exhausted)).toEqual({ id: 'e', afterMs: 0 });
  });
});

describe('an open breaker', () => {
  const probed = (failure: typeof last | null): Finding => ({ ...at, kind: 'probed', probe, failure });
  const after = (probes: number): Counts => ({ ...nothing, probes: new Map([['e', probes]]) });
  const patient = routingOf({
    config: { circuit_breaker: { ...routing.project.config.circuit_breaker, success_threshold: 30 } },
  });

  test('opens again after a failed probe', () => {
    expect(wantedChanges(routing, [probed(last)], nothing)).toEqual({
      ...none,
      open: new Map([['e', { probe, last }]]),
    });
  });

  test('closes after as many successful probes in a row as its settings ask for', () => {
    expect(wantedChanges(patient, [probed(null)], after(2))).toEqual(none);
    expect(wantedChanges(patient, [probed(null)], after(3))).toEqual({ ...none, close: ['e'] });
  });

  test('stays as it is where the probe was handed back, or another node took it over', () => {
    expect(wantedChanges(routing, [{ ...at, kind: 'not probed', probe }], nothing)).toEqual(none);
    expect(wantedChanges(routing, [probed(null)], nothing)).toEqual(none);
  });
});

describe('an endpoint', () => {
  test('becomes inactive where a delivery used up its tries and nothing got through', () => {
    expect(wantedChanges(routing, [exhausted], counted(exhausted, 0, 3))).toEqual({
      ...none,
      disable: new Map([['e', { reason: 'a delivery used up its attempts', last, seen: 7 }]]),
    });
  });

  test('stays active where anything got through', () => {
    expect(wantedChanges(routing, [exhausted], counted(exhausted, 1, 300))).toEqual(none);
  });

  test('becomes inactive after a 410, and that is the reason given', () => {
    const because = new Map([['e', { reason: 'it answered 410 Gone', last: gone.last, seen: 7 }]]);
    expect(wantedChanges(routing, [gone], nothing)).toEqual({ ...none, disable: because });
    const both = wantedChanges(routing, [gone, exhausted], counted(exhausted, 0, 3));
    expect(both.disable).toEqual(because);
  });
});
