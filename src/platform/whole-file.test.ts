import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { beforeEach, describe, expect, test } from 'vitest';
import { GzipFile, prepareDirectory, WriteError } from './whole-file.ts';

let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'posthorn-gzip-'));
  return () => rm(directory, { recursive: true });
});

async function write(name: string, ...texts: string[]): Promise<void> {
  const file = await GzipFile.create(directory, name);
  try {
    for (const text of texts) await file.write(text);
    await file.finish();
  } finally {
    await file.discard();
  }
}

const read = async (name: string) => gunzipSync(await readFile(join(directory, name))).toString();

describe('a file', () => {
  test('has the written content, in one stream, readable by its owner only', async () => {
    await write('f', 'one\n', 'zwei 😀\n', '');
    expect(await read('f')).toBe('one\nzwei 😀\n');
    expect((await stat(join(directory, 'f'))).mode & 0o777).toBe(0o600);
  });

  test('gets its name when it is finished, and leaves nothing otherwise', async () => {
    const file = await GzipFile.create(directory, 'f');
    await file.write('one');
    expect(await readdir(directory)).toEqual([expect.stringMatching(/^f\.\w+\.tmp$/)]);
    await file.discard();
    expect(await readdir(directory)).toEqual([]);
  });

  test('replaces a file of the same name in one step', async () => {
    await write('f', 'first');
    await write('f', 'second');
    expect(await readdir(directory)).toEqual(['f']);
    expect(await read('f')).toBe('second');
  });

  test('without content is not created', async () => {
    await write('f');
    expect(await readdir(directory)).toEqual([]);
  });

  test('that cannot be renamed is an error, and leaves nothing', async () => {
    await mkdir(join(directory, 'f'));
    await expect(write('f', 'one')).rejects.toThrow(WriteError);
    expect(await readdir(directory)).toEqual(['f']);
  });

  test('that does not fit on the disk is an error, and leaves nothing', async () => {
    const program = `
      import { randomBytes } from 'node:crypto';
      import { GzipFile, prepareDirectory, WriteError } from ${JSON.stringify(new URL('whole-file.ts', import.meta.url).href)};
      const problems = [];
      await prepareDirectory(process.argv[1]).catch((error) => problems.push(error));
      const file = await GzipFile.create(process.argv[1], 'f');
      await file.write(randomBytes(1e6).toString('base64')).catch((error) => problems.push(error));
      await file.discard();
      console.log(problems.filter((error) => error instanceof WriteError).length);`;
    // A limit on the size of files stands in for a disk that is full after 4 KiB.
    const run = promisify(execFile)('sh', [
      '-c',
      'ulimit -f 8; exec "$@"',
      'sh',
      process.execPath,
      '--input-type=module',
      '-e',
      program,
      directory,
    ]);
    expect((await run).stdout).toBe('2\n');
    expect(await readdir(directory)).toEqual([]);
  });
});

describe('a directory', () => {
  test.each(['missing', 'file'])('is refused where there is none: %s', async (name) => {
    await writeFile(join(directory, 'file'), '');
    await expect(prepareDirectory(join(directory, name))).rejects.toThrow(WriteError);
  });

  test('loses the leftovers of a killed process, and nothing else', async () => {
    const yesterday = new Date(Date.now() - 86_400_000);
    for (const name of ['old.tmp', 'young.tmp', 'old.jsonl.gz']) await writeFile(join(directory, name), '');
    for (const name of ['old.tmp', 'old.jsonl.gz']) await utimes(join(directory, name), yesterday, yesterday);
    await prepareDirectory(directory);
    expect((await readdir(directory)).toSorted()).toEqual(['old.jsonl.gz', 'young.tmp']);
  });
});
