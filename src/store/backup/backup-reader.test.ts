import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { StartupError } from '../../platform/startup-error.ts';
import { BackupReader } from './backup-reader.ts';

/** Rows that look like the end of a table as far as COPY allows. */
const TABLES: Record<string, string> = {
  full: 'a\t\\\\.\n\\\\.\n\\N\n.\n',
  empty: '',
  'empty text': '\n\n',
  last: '\\\\.\tüñí\\n\\\\.\n',
};

function backup(tables: Record<string, string>, header: object = { posthorn_backup: 1 }): Buffer {
  const lines = Object.entries(tables).map(
    ([table, rows]) => `${JSON.stringify({ table, columns: ['x'] })}\n${rows}\\.\n`,
  );
  const text = [`${JSON.stringify(header)}\n`, ...lines].join('');
  const rows = Object.fromEntries(
    Object.entries(tables).map(([table, text]) => [table, text.split('\n').length - 1]),
  );
  const sha256 = createHash('sha256').update(text).digest('hex');
  return Buffer.from(`${text}${JSON.stringify({ rows, sha256 })}\n`);
}

/** The bytes in pieces of these lengths, repeated. */
async function* pieces(bytes: Buffer, lengths: number[]): AsyncGenerator<Buffer> {
  for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
    const length = lengths[turn % lengths.length] ?? 1;
    yield bytes.subarray(at, at + length);
    at += length;
  }
}

async function textOf(rows: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of rows) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

async function readAll(bytes: Buffer, lengths: number[]): Promise<Record<string, string>> {
  const reader = new BackupReader(pieces(bytes, lengths));
  await reader.header();
  const tables: Record<string, string> = {};
  for await (const { table, rows } of reader.tables()) tables[table] = await textOf(rows);
  return tables;
}

describe('a backup is read', () => {
  it('the same for any cut of its bytes', async () => {
    const lengths = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(lengths, async (cut) => {
        expect(await readAll(backup(TABLES), cut)).toEqual(TABLES);
      }),
    );
  });

  it('with the number of its rows', async () => {
    const reader = new BackupReader(pieces(backup(TABLES), [1000]));
    await reader.header();
    for await (const { rows } of reader.tables()) await textOf(rows);
    expect(reader.rowCount).toBe(4 + 0 + 2 + 1);
  });

  it('without any table', async () => {
    expect(await readAll(backup({}), [7])).toEqual({});
  });
});

describe('a backup is refused', () => {
  const good = backup(TABLES);

  it('at any truncation', async () => {
    for (let length = 0; length < good.length; length += 1)
      await expect(readAll(good.subarray(0, length), [64]), `at ${length}`).rejects.toThrow(StartupError);
  });

  it('if any byte is changed', async () => {
    // The trailer is checked only for the hash. Its row counts are for the operator.
    const hashed = good.lastIndexOf('{"rows"');
    for (let at = 0; at < hashed; at += 1) {
      const bad = Buffer.from(good);
      bad[at] = bad[at]! ^ 1;
      await expect(readAll(bad, [64]), `at ${at}`).rejects.toThrow(StartupError);
    }
  });

  it.each(['', 'hello\n', '{}\n', 'null\n', '[1]\n', '"posthorn_backup"\n'])(
    'where it is %j',
    async (text) => {
      await expect(readAll(Buffer.from(text), [64])).rejects.toThrow(
        /not a backup of Posthorn|ends too early/,
      );
    },
  );

  it('where its format is newer', async () => {
    const newer = backup(TABLES, { posthorn_backup: 2, version: '9.9.9' });
    await expect(readAll(newer, [64])).rejects.toThrow('made by Posthorn 9.9.9, which is newer');
  });
});
