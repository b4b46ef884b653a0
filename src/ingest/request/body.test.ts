import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Body, parseBody, readBody } from './body.ts';

const limit = 10_000;
const BOUNDS = { depth: 100, names: 1_000 };
const typed = (contentType: string) => ({ 'content-type': contentType });
const parse = (text: string | Buffer, contentType: string, maxBytes = limit) =>
  parseBody(Buffer.from(text), typed(contentType), maxBytes);
const form = (text: string, maxBytes = limit) => parse(text, 'application/x-www-form-urlencoded', maxBytes);

describe('JSON bodies', () => {
  it.each([
    'application/json',
    'Application/JSON; charset=utf-8',
    'text/json',
    'application/cloudevents+json',
  ])('of type %s keep their text and are parsed', (contentType) => {
    const text = '{ "b": 1.0, "a": 12345678901234567890 }';
    expect(parse(text, contentType)).toEqual({ kind: 'json', text, value: JSON.parse(text) as unknown });
  });

  it('without a content type are parsed as JSON if they are JSON', () => {
    expect(parseBody(Buffer.from('[1]'), {}, limit)).toEqual({ kind: 'json', text: '[1]', value: [1] });
    expect(parseBody(Buffer.from('hello'), {}, limit)).toMatchObject({
      kind: 'opaque',
      contentType: 'application/octet-stream',
      asJson: '"hello"',
    });
  });

  it('may be any JSON value, and lose a byte order mark', () => {
    expect(parse('5', 'application/json')).toEqual({ kind: 'json', text: '5', value: 5 });
    expect(parse('\ufeff{}', 'application/json')).toEqual({ kind: 'json', text: '{}', value: {} });
  });

  it('keep a key called __proto__ as a key', () => {
    const body = parse('{"__proto__":{"x":1}}', 'application/json');
    expect(body.kind === 'json' && Object.keys(body.value as object)).toEqual(['__proto__']);
  });

  it('that do not parse are kept byte for byte', () => {
    for (const bytes of [Buffer.from('{"a":'), Buffer.from('{"a":"\xff"}', 'latin1'), Buffer.from(' ')]) {
      const body = parseBody(bytes, typed('application/json'), limit);
      expect(body).toMatchObject({ kind: 'opaque', contentType: 'application/json' });
      expect(body.kind === 'opaque' && body.bytes.equals(bytes)).toBe(true);
    }
  });

  it('nested deeper than 512 levels are kept as bytes, brackets in strings not counted', () => {
    const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
    expect(parse(nested(512), 'application/json').kind).toBe('json');
    expect(parse(nested(513), 'application/json').kind).toBe('opaque');
    expect(parse(`["${'['.repeat(2000)}\\"${'{'.repeat(2000)}"]`, 'application/json').kind).toBe('json');
    expect(parse(`[${'[],'.repeat(2000)}0]`, 'application/json').kind).toBe('json');
    const huge = '['.repeat(1_000_000);
    expect(parse(huge, 'application/json', 2_000_000).kind).toBe('opaque');
  });
});

describe('an empty body', () => {
  it.each(['application/json', 'text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data'])(
    'of type %s is an empty object',
    (contentType) => {
      expect(parse('', contentType)).toEqual({ kind: 'json', text: '{}', value: {} });
    },
  );
});

describe('form bodies', () => {
  it('become a flat object of strings in the order sent, a repeated name a list', () => {
    expect(form('b=x+y&10=ten&2=two&a=%C3%BC&b=again&flag&=nameless')).toMatchObject({
      kind: 'json',
      text: '{"b":["x y","again"],"10":"ten","2":"two","a":"ü","flag":"","":"nameless"}',
    });
  });

  it('keep __proto__ and a question mark at the start as names', () => {
    expect(form('__proto__=x&?q=1')).toMatchObject({ text: '{"__proto__":"x","?q":"1"}' });
    expect(form('?q=1')).toMatchObject({ text: '{"?q":"1"}', value: { '?q': '1' } });
  });

  it('survive broken escapes', () => {
    expect(form('a=%&b=%zz&c=%ff')).toMatchObject({ text: '{"a":"%","b":"%zz","c":"\ufffd"}' });
  });

  it('are too large beyond 10,000 fields, or where their JSON outgrows the limit', () => {
    expect(form('a&'.repeat(9_999), 100_000).kind).toBe('json');
    expect(form('a&'.repeat(10_001), 100_000)).toEqual({ kind: 'too_large' });
    expect(form(`a=${'\u0001'.repeat(50)}`, 100)).toEqual({ kind: 'too_large' });
    expect(form(`a=${'b'.repeat(50)}`, 100).kind).toBe('json');
  });

  it('sent as multipart become the same object, and are kept as bytes if malformed', () => {
    const part = (name: string, value: string) =>
      `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
    const contentType = 'multipart/form-data; boundary=b';
    expect(parse(`${part('x', '1')}${part('y', 'ü')}${part('x', '2')}--b--`, contentType)).toEqual({
      kind: 'json',
      text: '{"x":["1","2"],"y":"ü"}',
      value: { x: ['1', '2'], y: 'ü' },
    });
    expect(parse(part('x', '1'), contentType)).toMatchObject({ kind: 'opaque', contentType });
    expect(parse(`${part('x', '1')}--b--`, 'multipart/form-data').kind).toBe('opaque');
    expect(parse(`${part('x', '1').repeat(1001)}--b--`, contentType, 1_000_000)).toEqual({
      kind: 'too_large',
    });
  });
});

describe('other bodies', () => {
  it('keep bytes and content type, as text or as base64', () => {
    const bytes = Buffer.from([0xff, 0x00, 0x80]);
    expect(parse('<a>"ü"</a>', 'application/xml; charset=utf-8')).toEqual({
      kind: 'opaque',
      bytes: Buffer.from('<a>"ü"</a>'),
      contentType: 'application/xml; charset=utf-8',
      asJson: '"<a>\\"ü\\"</a>"',
    });
    expect(parse(bytes, 'image/png')).toEqual({
      kind: 'opaque',
      bytes,
      contentType: 'image/png',
      asJson: '"/wCA"',
    });
  });

  it('are not treated as JSON even if they would parse', () => {
    expect(parse('{"a":1}', 'text/plain').kind).toBe('opaque');
  });
});

describe('content encoding', () => {
  const json = Buffer.from(JSON.stringify({ text: 'x'.repeat(500) }));
  const read = (raw: Buffer, encoding: string | string[], maxBytes = limit): Promise<Body> =>
    readBody(raw, { 'content-type': 'application/json', 'content-encoding': encoding }, maxBytes, BOUNDS);

  it.each([
    ['gzip', gzipSync(json)],
    ['X-GZIP', gzipSync(json)],
    ['deflate', deflateSync(json)],
    ['deflate', deflateRawSync(json)],
    ['br', brotliCompressSync(json)],
    ['identity', json],
    ['', json],
    ['gzip, br', brotliCompressSync(gzipSync(json))],
    ['deflate,identity, gzip ,br', brotliCompressSync(gzipSync(deflateSync(json)))],
  ])('%s is decoded', async (encoding, raw) => {
    expect(await read(raw, encoding)).toMatchObject({ kind: 'json', text: json.toString() });
  });

  it('in several headers is decoded in reverse order', async () => {
    expect(await read(brotliCompressSync(gzipSync(json)), ['gzip', 'br'])).toMatchObject({ kind: 'json' });
  });

  it('applies to forms too, and an empty body needs no coding', async () => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded', 'content-encoding': 'gzip' };
    expect(await readBody(gzipSync('a=1'), headers, limit, BOUNDS)).toMatchObject({ text: '{"a":"1"}' });
    expect(await readBody(Buffer.alloc(0), headers, limit, BOUNDS)).toMatchObject({ text: '{}' });
    expect(await readBody(gzipSync(''), headers, limit, BOUNDS)).toMatchObject({ text: '{}' });
  });

  it.each([
    ['gzip', gzipSync(json).subarray(0, -9)],
    ['gzip', json],
    ['br', json],
    ['deflate', Buffer.from([0x78, 0x9c, 0xff, 0xff])],
    ['zstd', json],
    ['gzip, gzip, gzip, gzip', gzipSync(json)],
    ['__proto__', json],
  ])('%s that cannot be decoded is a bad_encoding', async (encoding, raw) => {
    const body = await read(raw, encoding);
    expect(body).toMatchObject({ kind: 'bad_encoding' });
    expect(body.kind === 'bad_encoding' && body.message.length).toBeGreaterThan(10);
  });

  it('allows exactly the limit and refuses one byte more', async () => {
    expect((await read(gzipSync(json), 'gzip', json.length)).kind).toBe('json');
    expect(await read(gzipSync(json), 'gzip', json.length - 1)).toEqual({ kind: 'too_large' });
    expect((await read(json, '', json.length)).kind).toBe('json');
    expect(await read(json, '', json.length - 1)).toEqual({ kind: 'too_large' });
  });

  it('does not inflate a bomb beyond the limit', async () => {
    const bomb = Buffer.alloc(100_000_000);
    const once = { gzip: gzipSync(bomb), br: brotliCompressSync(bomb.subarray(0, 20_000_000)) };
    const twice = gzipSync(once.gzip);
    const before = process.memoryUsage().rss;
    for (let round = 0; round < 5; round++) {
      expect(await read(once.gzip, 'gzip', 1_000_000)).toEqual({ kind: 'too_large' });
      expect(await read(once.br, 'br', 1_000_000)).toEqual({ kind: 'too_large' });
      expect(await read(twice, 'gzip, gzip', 1_000_000)).toEqual({ kind: 'too_large' });
    }
    // Fifteen bombs inflated would be 1.1 GB. The measured part is zlib's own working memory and garbage.
    expect(process.memoryUsage().rss - before).toBeLessThan(64_000_000);
  });
});

describe('any body', () => {
  const contentType = fc.oneof(
    fc.constantFrom(
      'application/json',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=b',
      'text/plain',
      '',
    ),
    fc.string({ unit: 'binary' }),
  );
  const encoding = fc.oneof(
    fc.constantFrom('', 'gzip', 'br', 'deflate', 'gzip, br', 'identity'),
    fc.array(fc.string(), { maxLength: 2 }),
    fc.constant(undefined),
  );
  const raw = fc.oneof(
    fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
    fc.json().map((text) => Buffer.from(text)),
    fc.json().map((text) => gzipSync(text)),
    fc.string({ unit: 'binary', maxLength: 300 }).map((text) => Buffer.from(text)),
    fc
      .json()
      .map((text) => Buffer.from(`--b\r\nContent-Disposition: form-data; name="x"\r\n\r\n${text}\r\n--b--`)),
  );

  it('is read without throwing, within the limit, and with the same result each time', async () => {
    await fc.assert(
      fc.asyncProperty(contentType, encoding, raw, fc.nat(400), async (type, coding, bytes, maxBytes) => {
        const headers = { 'content-type': type, 'content-encoding': coding };
        const body = await readBody(bytes, headers, maxBytes, BOUNDS);
        expect(await readBody(bytes, headers, maxBytes, BOUNDS)).toEqual(body);
        if (body.kind === 'json') {
          // An empty body becomes the two bytes of an empty object.
          expect(Buffer.byteLength(body.text)).toBeLessThanOrEqual(Math.max(maxBytes, 2));
          expect(body.value).toEqual(JSON.parse(body.text));
        }
        if (body.kind === 'opaque') {
          expect(body.bytes.length).toBeLessThanOrEqual(maxBytes);
          expect(typeof JSON.parse(body.asJson)).toBe('string');
        }
      }),
      { numRuns: 500 },
    );
  });
});
