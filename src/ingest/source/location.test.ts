import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Payload, parseBody } from '../request/body.ts';
import type { IngestRequest } from '../request/ingest-request.ts';
import {
  extractEventType,
  extractValue,
  type Location,
  parseEventTypeLocation,
  parseLocation,
} from './location.ts';

function located(text: string): Location {
  const reading = parseLocation(text);
  if (!reading.ok) throw new Error(reading.message);
  return reading.location;
}

function request(parts: Partial<IngestRequest> = {}): IngestRequest {
  const empty = { method: 'POST', path: '/', rawQuery: '', headers: {}, body: Buffer.alloc(0), url: '' };
  return { ...empty, ...parts };
}

function payload(text: string, contentType = 'application/json'): Payload {
  const body = parseBody(Buffer.from(text), { 'content-type': contentType }, 1_000_000);
  if (body.kind !== 'json' && body.kind !== 'opaque') throw new Error(body.kind);
  return body;
}

const nothing = payload('');
const inBody = (selector: string, json: string) =>
  extractValue(located(`request.body.${selector}`), request(), payload(json));

describe('parseLocation', () => {
  it.each([
    ['request.header.X-Event-Id', { part: 'header', name: 'x-event-id' }],
    ['req.Header.x', { part: 'header', name: 'x' }],
    ['request.QueryParam.id', { part: 'query', name: 'id' }],
    ['request.queryparam.id', { part: 'query', name: 'id' }],
    ['req.query.a[b]', { part: 'query', name: 'a[b]' }],
    ['req.query.a\\.b', { part: 'query', name: 'a.b' }],
    ['request.Body.data.items.0.id', { part: 'body', path: ['data', 'items', '0', 'id'] }],
    ['request.body.a\\.b.c\\\\d', { part: 'body', path: ['a.b', 'c\\d'] }],
    ['request.body.\\#', { part: 'body', path: ['#'] }],
    ['request.body.@type', { part: 'body', path: ['@type'] }],
    ['request.body.naïve key', { part: 'body', path: ['naïve key'] }],
  ])('reads %s', (text, location) => {
    expect(parseLocation(text)).toEqual({ ok: true, location });
  });

  // differs Sources: Locations of idempotency keys take no wildcards. They could match several values.
  it.each([
    [''],
    ['request'],
    ['request.body'],
    ['request.body.'],
    ['request.body..a'],
    ['request.body.a.'],
    ['body.a'],
    ['Request.body.a'],
    ['response.body.a'],
    ['request.cookie.a'],
    ['request.constructor.a'],
    ['request.header.a.b'],
    ['request.header.a b'],
    ['request.header.ü'],
    ['request.query.a.b'],
    ['request.body.items.#.id'],
    ['request.body.a*'],
    ['request.body.a|b'],
    [`request.body.${'a'.repeat(600)}`],
  ])('refuses %j with a message that says why', (text) => {
    const reading = parseLocation(text);
    expect(reading.ok).toBe(false);
    if (!reading.ok) expect(reading.message.length).toBeGreaterThan(30);
  });

  it('never throws', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        parseLocation(text);
        parseLocation(`request.body.${text}`);
        parseLocation(`req.header.${text}`);
      }),
    );
  });
});

describe('extractValue', () => {
  it('returns the first value of a header and of a query parameter', () => {
    const received = request({ headers: { 'x-id': ['a', 'b'], 'x-one': 'c' }, rawQuery: 'id=x+y&id=z&e=' });
    expect(extractValue(located('req.header.X-Id'), received, nothing)).toBe('a');
    expect(extractValue(located('req.header.X-One'), received, nothing)).toBe('c');
    expect(extractValue(located('req.query.id'), received, nothing)).toBe('x y');
    expect(extractValue(located('req.query.e'), received, nothing)).toBe('');
  });

  it('is empty if there is no value', () => {
    expect(extractValue(located('req.header.constructor'), request(), nothing)).toBe('');
    expect(extractValue(located('req.query.id'), request(), nothing)).toBe('');
    for (const selector of ['a', 'a.b', '0', 'constructor', '__proto__', 'toString', 'length']) {
      expect(inBody(selector, '{}')).toBe('');
      expect(inBody(selector, '[]')).toBe('');
      expect(inBody(selector, '"text"')).toBe('');
      expect(inBody(selector, 'null')).toBe('');
    }
    expect(inBody('a', '{"a":null}')).toBe('');
  });

  it('follows keys and indexes', () => {
    const json = '{"a":{"b":[{"id":"x"},["y",true]]},"0":{"1":"z"},"__proto__":{"p":1}}';
    expect(inBody('a.b.0.id', json)).toBe('x');
    expect(inBody('a.b.1.0', json)).toBe('y');
    expect(inBody('a.b.1.1', json)).toBe('true');
    expect(inBody('0.1', json)).toBe('z');
    expect(inBody('__proto__.p', json)).toBe('1');
    for (const selector of ['a.b.2', 'a.b.00', 'a.b.-1', 'a.b.0x0', 'a.b.length', 'a.b.0.id.0']) {
      expect(inBody(selector, json)).toBe('');
    }
  });

  it('distinguishes numbers that are the same double', () => {
    expect(inBody('id', '{"id":12345678901234567891}')).toBe('12345678901234567891');
    expect(inBody('id', '{"id":12345678901234567890}')).toBe('12345678901234567890');
    expect(inBody('id', '{"id":42}')).toBe('42');
    expect(inBody('id', '{"id":0.1}')).toBe('0.1');
    expect(inBody('a', '{"a":[9007199254740993]}')).not.toBe(inBody('a', '{"a":[9007199254740992]}'));
  });

  it('returns an object or array as its JSON, without insignificant space', () => {
    expect(inBody('a', '{"a": {"x": "1", "y": [true, null]}}')).toBe('{"x":"1","y":[true,null]}');
  });

  it('finds fields of forms, and nothing in bodies that are not JSON', () => {
    const form = payload('data[id]=5&a.b=6', 'application/x-www-form-urlencoded');
    expect(extractValue(located('req.body.data[id]'), request(), form)).toBe('5');
    expect(extractValue(located('req.body.a\\.b'), request(), form)).toBe('6');
    expect(extractValue(located('req.body.a'), request(), payload('<a>1</a>', 'text/xml'))).toBe('');
  });

  it('never throws for any JSON and path', () => {
    const word = fc.oneof(
      fc.string({ minLength: 1 }),
      fc.constantFrom('0', '1', '__proto__', 'a', 'constructor'),
    );
    fc.assert(
      fc.property(fc.json(), fc.array(word, { minLength: 1, maxLength: 4 }), (json, path) => {
        const location: Location = { part: 'body', path };
        expect(typeof extractValue(location, request(), payload(json))).toBe('string');
        extractEventType(location, request(), payload(json));
      }),
    );
  });
});

describe('extractEventType', () => {
  const typeOf = (json: string) => extractEventType(located('req.body.type'), request(), payload(json));

  it.each([
    ['{"type":" invoice.paid "}', 'invoice.paid'],
    ['{"type":7}', '7'],
    ['{"type":false}', 'false'],
    ['{"type":12345678901234567891}', '12345678901234567891'],
  ])('of %s is %s', (json, eventType) => {
    expect(typeOf(json)).toEqual({ ok: true, eventType });
  });

  it.each([
    '{}',
    '{"type":null}',
    '{"type":""}',
    '{"type":" \\t"}',
    '{"type":{}}',
    '{"type":["a"]}',
    `{"type":"${'x'.repeat(1025)}"}`,
  ])('of %s is an error', (json) => {
    expect(typeOf(json)).toMatchObject({ ok: false });
  });

  it('comes from a header too', () => {
    const received = request({ headers: { 'x-github-event': 'push' } });
    expect(extractEventType(located('req.header.X-GitHub-Event'), received, nothing)).toEqual({
      ok: true,
      eventType: 'push',
    });
  });
});

describe('parseEventTypeLocation', () => {
  const hmac = { header: 'x', hash: 'SHA256', secret: 's', encoding: 'hex' };
  const signed = { provider: '', verifier: { type: 'hmac', hmac } } as const;
  const unsigned = { provider: '', verifier: { type: 'noop' } } as const;

  it('accepts the body and headers, not the query, if a signature verifies the source', () => {
    for (const source of [signed, { ...signed, provider: 'github' }]) {
      expect(parseEventTypeLocation('req.body.type', source).ok).toBe(true);
      expect(parseEventTypeLocation('req.header.type', source).ok).toBe(true);
      expect(parseEventTypeLocation('req.query.type', source)).toMatchObject({ ok: false });
    }
  });

  it('accepts any part without a signature, and always refuses bad grammar', () => {
    for (const part of ['body', 'header', 'query']) {
      expect(parseEventTypeLocation(`req.${part}.type`, unsigned).ok).toBe(true);
    }
    expect(parseEventTypeLocation('type', unsigned).ok).toBe(false);
    expect(parseEventTypeLocation('type', signed).ok).toBe(false);
  });
});
