import { describe, expect, it } from 'vitest';
import { parseConditions } from './filter-text.ts';

const empty = { body: {}, headers: {}, query: {}, path: {} };

describe('a typed filter', () => {
  it('without scopes is about the body', () => {
    expect(parseConditions('{"amount": {"$gte": 10}}')).toEqual({ ...empty, body: { amount: { $gte: 10 } } });
  });

  it('may name its scopes', () => {
    const text = '{"body": {"a": 1}, "headers": {"x-b": "c"}}';
    expect(parseConditions(text)).toEqual({ ...empty, body: { a: 1 }, headers: { 'x-b': 'c' } });
  });

  it('may be empty', () => {
    expect(parseConditions(' ')).toEqual(empty);
  });

  it.each(['[1]', '"a"', '{'])('is not %s', (text) => {
    expect(() => parseConditions(text)).toThrow(SyntaxError);
  });
});
