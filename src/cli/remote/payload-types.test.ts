import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { payloadTypes } from './payload-types.ts';

const ROOT = join(import.meta.dirname, '../../..');

const eventTypes = [
  {
    name: 'invoice.paid',
    description: 'An invoice was paid. */ alert(1)',
    json_schema: {
      type: 'object',
      required: ['id', 'state'],
      properties: {
        id: { type: 'integer', description: 'Its number.' },
        state: { enum: ['paid', 'open'] },
        'odd-name"': { type: ['string', 'null'] },
        lines: { type: 'array', items: { $ref: '#/$defs/line' } },
        more: { type: 'object', additionalProperties: { type: 'number' } },
      },
      $defs: { line: { type: 'object', required: ['price'], properties: { price: { type: 'number' } } } },
    },
  },
  {
    name: 'invoice_paid',
    description: '',
    json_schema: { oneOf: [{ type: 'string' }, { type: 'boolean' }] },
  },
  { name: '*', description: '', json_schema: null },
];

test('schemas become types that the compiler accepts and that mean the same', () => {
  const folder = mkdtempSync(join(tmpdir(), 'posthorn-types-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const uses = `
    const good: Payloads['invoice.paid'] = { id: 1, state: 'paid', lines: [{ price: 2 }], more: { a: 1 } };
    // @ts-expect-error the state is one of two
    const bad: Payloads['invoice.paid'] = { id: 1, state: 'lost' };
    const other: Payloads['invoice_paid'] = true;
    const name: EventName = 'invoice.paid';
    export const all = [good, bad, other, name];
  `;
  writeFileSync(join(folder, 'payloads.ts'), payloadTypes(eventTypes) + uses);
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
  const args = ['--noEmit', '--strict', '--skipLibCheck', '--types', '', join(folder, 'payloads.ts')];
  expect(() => execFileSync(process.execPath, [tsc, ...args], { cwd: folder })).not.toThrow();
});

test('a text of a schema cannot become code', () => {
  expect(payloadTypes(eventTypes)).not.toContain('*/ alert');
  expect(payloadTypes([])).toContain('export interface Payloads {\n\n}');
});
