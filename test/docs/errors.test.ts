import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { errorTable } from '../../src/domain/errors.ts';

const page = readFileSync(join(import.meta.dirname, '../../docs/errors.md'), 'utf8');
const rows = [...page.matchAll(/^\|`(\w+)`\|(\d{3})\|`(.+)`\|$/gm)];
const documented = Object.fromEntries(
  rows.map(([, code, status, message]) => [code, { status: Number(status), message }]),
);

describe('docs/errors.md', () => {
  it('has one row per error, with its status and message, and no other row', () => {
    expect(rows).toHaveLength(Object.keys(errorTable).length);
    expect(documented).toEqual(errorTable);
  });

  it('advises only on errors that exist', () => {
    const advice = page.slice(page.indexOf('## What to do'));
    const codes = [...advice.matchAll(/^- (.*?)(?::|\bis\b|\bnames\b|\bcome)/gm)].flatMap(([, lead]) => [
      ...(lead ?? '').matchAll(/`(\w+)`/g),
    ]);
    expect(codes.length).toBeGreaterThan(5);
    expect(codes.map(([, code = '']) => code).filter((code) => !Object.hasOwn(errorTable, code))).toEqual([]);
  });
});
