import { expect, test } from 'vitest';
import type { HealthFacts } from '../../store/upkeep/health-facts.ts';
import { nodeFindings, serverFindings } from './doctor.ts';

const NOW = Date.parse('2026-01-31T12:00:00Z');
const DAY = 86_400_000;
const well: HealthFacts = {
  serverVersion: '18.1',
  serverVersionNumber: 180_001,
  nowMs: NOW,
  bytes: 2 ** 30,
  connections: 10,
  maxConnections: 100,
  migrations: ['0001_schema.sql'],
  partitionEnds: new Map([['events', NOW + 3 * DAY]]),
  waitingSources: [],
};
const known = { files: ['0001_schema.sql'], passedMs: 0 };
const findings = (facts: Partial<HealthFacts>) => serverFindings({ ...well, ...facts }, known, NOW);

test('a service that is well has no finding', () => {
  expect(findings({}).filter(({ state }) => state !== 'ok')).toEqual([]);
});

test.each<[string, Partial<HealthFacts>, RegExp]>([
  ['database', { serverVersionNumber: 140_000 }, /upgrade it to 15/],
  ['schema', { migrations: [] }, /1 migrations to do; run posthorn migrate/],
  ['clock', { nowMs: NOW - 60_000 }, /60 s apart.*NTP/],
  [
    'partitions',
    {
      partitionEnds: new Map([
        ['events', NOW + 3 * DAY],
        ['delivery_attempts', NOW],
      ]),
    },
    /janitor/,
  ],
  ['partitions', { partitionEnds: new Map() }, /janitor/],
  ['connections', { connections: 95 }, /max_connections/],
  [
    'brokers',
    { waitingSources: [{ source_id: 's', reason: 'no route' }] },
    /source s waits: no route; posthorn sources test s/,
  ],
])('%s: what is wrong comes with what to do', (topic, facts, expected) => {
  const wrong = findings(facts).filter(({ state }) => state !== 'ok');
  expect(wrong.map((finding) => finding.topic)).toEqual([topic]);
  expect(wrong[0]?.text).toMatch(expected);
});

test('nodes: none at work, and nodes of different versions', () => {
  const node = { id: 'n', roles: '', knows: '0001', started_at: 0, beat_at: 0, silent_seconds: 1 };
  expect(nodeFindings([node], '0001')).toEqual([{ topic: 'nodes', state: 'ok', text: '1 at work' }]);
  expect(nodeFindings([{ ...node, silent_seconds: 60 }], '0001')[0]?.text).toContain('no node is at work');
  expect(nodeFindings([node, { ...node, knows: '0002' }], '0001')[0]?.text).toContain('different versions');
});
