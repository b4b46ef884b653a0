import { expect, test } from 'vitest';
import { callLine, missingOperations } from '../support/suite/operation-coverage.ts';

const document = {
  paths: {
    '/things': { get: { responses: { 200: {} } }, post: { responses: { 201: {} } } },
    '/things/{thingID}': { get: { responses: { 200: {} } } },
    '/things/summary': { get: { responses: { 200: {} } } },
  },
};
const line = (method: string, path: string, status: number) =>
  callLine(method, `http://127.0.0.1:1${path}`, status);

test('an operation is covered by a success and a failure of its own, for any ids and query', () => {
  const lines = [
    line('GET', '/things?perPage=5', 200),
    line('GET', '/things', 401),
    line('POST', '/things', 201),
    line('POST', '/things', 200),
    line('GET', '/things/01HZX3ZV4T8T4Y6N0Y7Q9B2C3D', 200),
    line('GET', '/things/none', 404),
    line('GET', '/things/summary', 500),
    line('DELETE', '/things', 405),
  ];
  expect(missingOperations(document, lines)).toEqual([
    'GET /things/summary: no success',
    'POST /things: no failure',
  ]);
});

test('a run without calls misses everything', () => {
  expect(missingOperations(document, []).length).toBe(8);
});
