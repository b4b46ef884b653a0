import { expect, test } from 'vitest';
import { SealError, Sealer } from '../../platform/sealer.ts';
import { openHeaders, resealedHeaders, shownHeaders, storedHeaders } from './stored-headers.ts';

const OLD = Buffer.from('the old key, which is long enough');
const NEW = Buffer.from('the new key, which is long enough');
const sealer = new Sealer([OLD]);
const visible = new Set(['x-open-token']);
const event = { id: 'e1', credentials: ['x-mine'], visible };
const headers = {
  Authorization: ['Bearer secret-1'],
  'X-Mine': ['secret-2', 'secret-3'],
  'X-Plain': ['plain', 'sealed:but not by us'],
  'X-Open-Token': ['open'],
  'X-Shut-Token': ['secret-4'],
  'X-Empty': [],
};

test('values of credentials are sealed, others are stored unchanged', () => {
  const stored = storedHeaders(sealer, headers, event) ?? '';
  expect(stored).not.toMatch(/secret-|not by us/);
  expect(stored).toContain('"plain"');
  expect(shownHeaders(stored, visible)).toEqual({
    Authorization: ['***'],
    'X-Mine': ['***', '***'],
    'X-Plain': ['plain', '***'],
    'X-Open-Token': ['open'],
    'X-Shut-Token': ['***'],
    'X-Empty': [],
  });
  expect(shownHeaders('{"X-Open-Token":["a"],"x-token":["b"]}', visible)).toEqual({
    'X-Open-Token': ['a'],
    'x-token': ['***'],
  });
});

test('they open to the original values, and name the sealed ones', () => {
  const opened = openHeaders(sealer, storedHeaders(sealer, headers, event), 'e1');
  expect(opened.headers).toEqual(headers);
  expect(opened.credentials).toEqual(['authorization', 'x-mine', 'x-plain', 'x-shut-token']);
});

test('no headers are stored as null', () => {
  expect(storedHeaders(sealer, {}, event)).toBeNull();
  expect(openHeaders(sealer, null, 'e1')).toEqual({ headers: {}, credentials: [] });
  expect(shownHeaders(null, visible)).toEqual({});
});

test('a header with the name of an inherited property is kept', () => {
  const odd = JSON.parse('{"__proto__": ["a"]}') as Record<string, string[]>;
  expect(storedHeaders(sealer, odd, event)).toBe('{"__proto__":["a"]}');
});

test('sealed values of one event cannot be opened in another', () => {
  const stored = storedHeaders(sealer, headers, event);
  expect(() => openHeaders(sealer, stored, 'e2')).toThrow(SealError);
});

test('sealing again moves values to the new key, once', () => {
  const both = new Sealer([NEW, OLD]);
  const moved = resealedHeaders(both, storedHeaders(sealer, headers, event), 'e1') ?? '';
  expect(openHeaders(new Sealer([NEW]), moved, 'e1').headers).toEqual(headers);
  expect(resealedHeaders(both, moved, 'e1')).toBeNull();
  expect(resealedHeaders(both, '{"A":["b"],"X-Open-Token":["c"]}', 'e1')).toBeNull();
  expect(() => resealedHeaders(new Sealer([NEW]), storedHeaders(sealer, headers, event), 'e1')).toThrow(
    SealError,
  );
});
