import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { actionSection } from '../../scripts/doc-sections.ts';
import { auditActions } from '../../src/domain/audit.ts';
import { cases } from '../support/operations/cases.ts';

const ROOT = join(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');

it('docs/audit.md lists all actions', () => {
  expect(read('docs/audit.md')).toContain(actionSection());
});

it('every action is written somewhere in the program', () => {
  const program = globSync('src/**/*.ts', { cwd: ROOT })
    .filter((path) => path !== 'src/domain/audit.ts' && !path.endsWith('.test.ts'))
    .map(read)
    .join('\n');
  expect(Object.keys(auditActions).filter((action) => !program.includes(`'${action}'`))).toEqual([]);
});

it('every action but four, which have tests of their own, is tested through a call of its operation', () => {
  const entries = Object.values(cases).flatMap(({ audit }) => (Array.isArray(audit) ? audit : []));
  const called = new Set(entries.map(({ action }) => action));
  expect(Object.keys(auditActions).filter((action) => !called.has(action))).toEqual([
    'endpoint.disabled',
    'subscription.activated',
    'person.used_code_refused',
    'primary.accepted',
  ]);
});
