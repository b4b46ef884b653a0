import { expect, test } from 'vitest';
import { AcceptedCounts } from './accepted-counts.ts';

const e = { endpointId: 'e' };

test('events are counted by project and source, deliveries by endpoint', () => {
  const counts = new AcceptedCounts();
  counts.accepted({ projectId: 'p', sourceId: 's' }, [e, { endpointId: 'f' }]);
  counts.accepted({ projectId: 'p', sourceId: 's' }, [e]);
  counts.accepted({ projectId: 'p', sourceId: null }, []);
  counts.made('p', [e]);
  expect(counts.take()).toEqual([
    { projectId: 'p', sourceId: 's', endpointId: null, count: 2 },
    { projectId: 'p', sourceId: null, endpointId: 'e', count: 3 },
    { projectId: 'p', sourceId: null, endpointId: 'f', count: 1 },
    { projectId: 'p', sourceId: null, endpointId: null, count: 1 },
  ]);
  expect(counts.take()).toEqual([]);
});

test('counts that could not be stored come again, with those since', () => {
  const counts = new AcceptedCounts();
  counts.made('p', [e]);
  const taken = counts.take();
  counts.made('p', [e]);
  counts.giveBack(taken);
  expect(counts.take()).toEqual([{ projectId: 'p', sourceId: null, endpointId: 'e', count: 2 }]);
});

test('with too many endpoints the others are left out, and projects never are', () => {
  const counts = new AcceptedCounts();
  for (let n = 0; n < 60_000; n++) counts.made('p', [{ endpointId: `e${n}` }]);
  counts.accepted({ projectId: 'q', sourceId: null }, [{ endpointId: 'late' }]);
  const taken = counts.take();
  expect(taken).toHaveLength(50_001);
  expect(taken.at(-1)).toEqual({ projectId: 'q', sourceId: null, endpointId: null, count: 1 });
});
