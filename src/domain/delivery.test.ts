import { expect, test } from 'vitest';
import { deliveryStatuses, openStatuses, transitions } from './delivery.ts';

const from = (status: string | null) =>
  transitions.filter((change) => change.from === status).map(({ to }) => to);
const stored = deliveryStatuses.filter((status) => status !== 'Processing');

test('a delivery begins as scheduled, and every state can be reached from there', () => {
  expect(from(null)).toEqual(['Scheduled']);
  const reached = new Set<string>(['Scheduled']);
  for (const status of reached) for (const next of from(status)) reached.add(next);
  expect([...reached].sort()).toEqual([...stored].sort());
});

test('no state leads to another by two entries of the table', () => {
  const pairs = transitions.map((change) => `${change.from} ${change.to}`);
  expect(new Set(pairs).size).toBe(pairs.length);
});

test('an open delivery can end in every way, and never goes back to untried once it was tried', () => {
  for (const status of openStatuses.filter((open) => open !== 'Processing'))
    expect(from(status)).toEqual(expect.arrayContaining(['Success', 'Failure', 'Discarded']));
  expect(from('Retry')).not.toContain('Scheduled');
});

test('an ended delivery becomes open again by a resend alone', () => {
  const ends = stored.filter((status) => !openStatuses.includes(status));
  expect(ends.toSorted()).toEqual(['Discarded', 'Failure', 'Success']);
  for (const status of ends)
    expect(transitions.filter((change) => change.from === status)).toEqual([
      { from: status, to: 'Scheduled', when: 'resent' },
    ]);
});
