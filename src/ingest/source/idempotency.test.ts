import { createHash } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compileIdempotencyKey, idempotencyChecksum } from './idempotency.ts';
import type { Location } from './location.ts';

describe('idempotencyChecksum', () => {
  it('is the digest of the uid and the values, each after its length in bytes', () => {
    const digest = createHash('sha256').update('3:src1:a0:2:ü').digest('hex');
    expect(idempotencyChecksum('src', ['a', '', 'ü'])).toBe(digest);
  });

  it('is null without any value', () => {
    expect(idempotencyChecksum('src', [])).toBeNull();
    expect(idempotencyChecksum('src', [''])).toBeNull();
    expect(idempotencyChecksum('src', ['', ''])).toBeNull();
  });

  it('differs by source, by order and by where one value ends', () => {
    const keys = [
      idempotencyChecksum('s', ['a', 'b']),
      idempotencyChecksum('t', ['a', 'b']),
      idempotencyChecksum('s', ['b', 'a']),
      idempotencyChecksum('s', ['ab', '']),
      idempotencyChecksum('s', ['', 'ab']),
      idempotencyChecksum('s', ['ab']),
      idempotencyChecksum('s', ['a1:b']),
      idempotencyChecksum('sa', ['b']),
    ];
    expect(new Set(keys).size).toBe(keys.length);
  });

  it('is the same for the same values and different for different ones', () => {
    const values = fc.array(fc.string({ unit: fc.constantFrom('a', '1', ':', '') }), { maxLength: 4 });
    fc.assert(
      fc.property(values, values, (left, right) => {
        fc.pre(left.some((value) => value !== '') && right.some((value) => value !== ''));
        const same = JSON.stringify(left) === JSON.stringify(right);
        expect(idempotencyChecksum('s', left) === idempotencyChecksum('s', right)).toBe(same);
      }),
    );
  });
});

describe('compileIdempotencyKey', () => {
  const locations: Location[] = [
    { part: 'header', name: 'x-id' },
    { part: 'query', name: 'n' },
    { part: 'body', path: ['id'] },
  ];
  const keyOf = compileIdempotencyKey('src', locations);
  const request = { method: 'POST', path: '/', rawQuery: '', headers: {}, body: Buffer.alloc(0), url: '' };
  const empty = { kind: 'json', text: '{}', value: {} } as const;

  it('joins the values of the locations, with missing ones empty', () => {
    const payload = { kind: 'json', text: '{"id":7}', value: { id: 7 } } as const;
    expect(keyOf({ ...request, headers: { 'x-id': 'a' }, rawQuery: 'n=1' }, payload)).toBe(
      idempotencyChecksum('src', ['a', '1', '7']),
    );
    expect(keyOf(request, payload)).toBe(idempotencyChecksum('src', ['', '', '7']));
  });

  it('is null if no value is found, and for a source without locations', () => {
    expect(keyOf(request, empty)).toBeNull();
    expect(compileIdempotencyKey('src', [])(request, empty)).toBeNull();
  });
});
