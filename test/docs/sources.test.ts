import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { signatureHashes } from '../../src/domain/config/signature-hash.ts';
import { signatureEncodings } from '../../src/domain/config/source.ts';
import { parseLocation } from '../../src/ingest/source/location.ts';
import { providerPresets } from '../../src/ingest/verify/presets.ts';

const page = readFileSync(join(import.meta.dirname, '../../docs/sources.md'), 'utf8');

test('docs/sources.md lists every provider with its headers', () => {
  const table = page.slice(page.indexOf('<!-- begin presets -->'), page.indexOf('<!-- end presets -->'));
  const rows = [...table.matchAll(/^\|`(\w+)`\|(.+)\|$/gm)];
  expect(rows.map(([, name]) => name)).toEqual(providerPresets.map(({ name }) => name));
  for (const [index, { signatureHeaders }] of providerPresets.entries())
    for (const header of signatureHeaders) expect(rows[index]?.[2]).toContain(`\`${header}\``);
});

test('docs/sources.md names every hash and encoding of a signature', () => {
  const row = /^\|`hmac`\|.*$/m.exec(page)?.[0] ?? '';
  for (const name of [...signatureHashes, ...signatureEncodings]) expect(row).toContain(`\`${name}\``);
});

test('the locations of docs/sources.md are valid', () => {
  const locations = [...page.matchAll(/^\|`(req(?:uest)?\..+?)`\|/gm)].map(([, text = '']) => text);
  expect(locations.length).toBeGreaterThanOrEqual(5);
  for (const text of locations) expect([text, parseLocation(text).ok]).toEqual([text, true]);
});
