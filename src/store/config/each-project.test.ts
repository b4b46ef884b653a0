import { expect, test } from 'vitest';
import { AppError } from '../../domain/errors.ts';
import { asId, type ProjectId } from '../../domain/ids.ts';
import { eachProject, MOST_IN_A_ROW } from './each-project.ts';

const row = (projectId: string, n = 0) => ({ projectId: asId<ProjectId>(projectId), n });

/** Works on rows that a project takes away, at most `most` at a time. */
async function run(
  rows: ReturnType<typeof row>[],
  {
    most,
    broken = {},
    stopAfter,
  }: { most?: number; broken?: Record<string, Error>; stopAfter?: number } = {},
) {
  const left = new Set(rows);
  const done: string[] = [];
  const failed: string[] = [];
  const stop = new AbortController();
  await eachProject({
    find: async (leftOut) =>
      [...left].filter(({ projectId }) => !leftOut.includes(projectId)).slice(0, most ?? left.size),
    ...(most !== undefined && { most }),
    act: async (projectId, own) => {
      const error = broken[projectId];
      if (error !== undefined) throw error;
      for (const one of own) left.delete(one);
      done.push(`${projectId}${own.length}`);
      if (done.length === stopAfter) stop.abort();
    },
    failed: (projectId) => failed.push(projectId),
    signal: stop.signal,
  });
  return { done, failed };
}

test('a project that fails is reported once, and the others go on', async () => {
  const rows = [row('a'), row('b'), row('a', 1), row('c')];
  expect(await run(rows, { broken: { a: new Error('no') } })).toEqual({ done: ['b1', 'c1'], failed: ['a'] });
});

test('more rows of a project that fails than are found at a time do not hide those of others', async () => {
  const rows = [...[0, 1, 2, 3, 4].map((n) => row('a', n)), row('b'), row('c'), row('c', 1)];
  const broken = { a: new Error('no') };
  expect(await run(rows, { most: 2, broken })).toEqual({ done: ['b1', 'c1', 'c1'], failed: ['a'] });
});

test('a project that was deleted or moves is no failure', async () => {
  const broken = { a: new AppError('project_moving'), b: new AppError('project_not_found') };
  expect(await run([row('a'), row('b'), row('c')], { broken })).toEqual({ done: ['c1'], failed: [] });
});

test('a fault of all projects ends it', async () => {
  const names = Array.from({ length: 2 * MOST_IN_A_ROW }, (_, n) => `p${n}`);
  const broken = Object.fromEntries(names.map((name) => [name, new Error('no database')]));
  await expect(
    run(
      names.map((name) => row(name)),
      { broken },
    ),
  ).rejects.toThrow('no database');
});

test('a stop ends it before the next project', async () => {
  expect((await run([row('a'), row('b'), row('c')], { stopAfter: 2 })).done).toEqual(['a1', 'b1']);
});
