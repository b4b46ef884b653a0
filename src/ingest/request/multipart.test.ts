import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { multipartBoundary, parseMultipart } from './multipart.ts';

const lines = (...text: string[]) => Buffer.from(text.join('\r\n'), 'utf8');
const field = (name: string) => `Content-Disposition: form-data; name="${name}"`;
const fields = (...pairs: [string, string][]) => ({ kind: 'fields', fields: pairs });
const malformed = { kind: 'malformed' };

describe('parseMultipart', () => {
  it('reads the text fields another encoder wrote, in order, and skips files', async () => {
    const form = new FormData();
    form.append('note', 'grüße\r\n--not a boundary--\r\n');
    form.append('empty', '');
    form.append('upload', new Blob(['secret bytes']), 'a.txt');
    form.append('note', 'second');
    const encoded = new Response(form);
    const boundary = multipartBoundary(encoded.headers.get('content-type') ?? '') ?? '';
    expect(parseMultipart(Buffer.from(await encoded.arrayBuffer()), boundary)).toEqual(
      fields(['note', 'grüße\r\n--not a boundary--\r\n'], ['empty', ''], ['note', 'second']),
    );
  });

  it('ignores a preamble, an epilogue and padding after a boundary', () => {
    const body = lines('preamble --b', '--b \t', field('x'), '', '1', '--b--  ', 'epilogue', '--b', 'x');
    expect(parseMultipart(body, 'b')).toEqual(fields(['x', '1']));
  });

  it('treats a longer boundary that begins with ours as content', () => {
    const body = lines('--b', field('x'), '', '1', '--bc', '--b-', '--b--c', ' --b', '--b--');
    expect(parseMultipart(body, 'b')).toEqual(fields(['x', '1\r\n--bc\r\n--b-\r\n--b--c\r\n --b']));
  });

  it('treats a nested multipart part as text', () => {
    const inner = ['--inner', field('y'), '', '2', '--inner--'];
    const body = lines(
      '--b',
      field('x'),
      'Content-Type: multipart/mixed; boundary=inner',
      '',
      ...inner,
      '--b--',
    );
    expect(parseMultipart(body, 'b')).toEqual(fields(['x', inner.join('\r\n')]));
  });

  it('finds a boundary before it looks at headers, so that headers cannot hide one', () => {
    const body = lines('--b', 'X-A: 1', '--b', field('x'), '', '1', '--b--');
    expect(parseMultipart(body, 'b')).toEqual(malformed);
  });

  it('does not break lines at a bare line feed', () => {
    const body = Buffer.from(`--b\n${field('x')}\n\n1\n--b--\n`);
    expect(parseMultipart(body, 'b')).toEqual(malformed);
  });

  it('reads an empty form as no fields', () => {
    expect(parseMultipart(lines('--b--'), 'b')).toEqual(fields());
    expect(parseMultipart(lines('--b--', ''), 'b')).toEqual(fields());
  });

  it.each([
    ['nothing', lines('')],
    ['no last boundary', lines('--b', field('x'), '', '1')],
    ['a part that ends in its headers', lines('--b', field('x'), '--b--')],
    ['a line that is not a header', lines('--b', 'what', '', '1', '--b--')],
    ['a folded header', lines('--b', 'Content-Disposition: form-data;', ' name=x', '', '1', '--b--')],
    ['two dispositions', lines('--b', field('x'), field('y'), '', '1', '--b--')],
    ['two names', lines('--b', 'Content-Disposition: form-data; name=a; name=b', '', '1', '--b--')],
    ['a bare line feed in a header', lines('--b', `${field('x')}\nX: y`, '', '1', '--b--')],
    ['an unclosed quote', lines('--b', 'Content-Disposition: form-data; name="x', '', '1', '--b--')],
    [
      'a transfer encoding',
      lines('--b', field('x'), 'Content-Transfer-Encoding: base64', '', 'MQ==', '--b--'),
    ],
    ['long headers', lines('--b', field('x'), `X-Long: ${'y'.repeat(8200)}`, '', '1', '--b--')],
  ])('is malformed with %s', (_title, body) => {
    expect(parseMultipart(body, 'b')).toEqual(malformed);
  });

  it.each([
    ['a quoted name with escapes', 'form-data; name="a\\"b\\\\c"', 'a"b\\c'],
    ['a bare name', 'form-data; name=abc', 'abc'],
    ['a name in any case, after others', 'FORM-DATA;x=y; NAME="ü;=" ;', 'ü;='],
  ])('reads %s', (_title, disposition, name) => {
    const body = lines('--b', `Content-Disposition: ${disposition}`, '', '1', '--b--');
    expect(parseMultipart(body, 'b')).toEqual(fields([name, '1']));
  });

  it.each([
    ['a file', 'Content-Disposition: form-data; name="x"; filename="a"'],
    ['a file with an encoded name', 'Content-Disposition: form-data; name="x"; filename*=UTF-8\'\'a'],
    ['an attachment', 'Content-Disposition: attachment; name="x"'],
    ['a part without a name', 'Content-Disposition: form-data'],
    ['a part without a disposition', 'Content-Type: text/plain'],
    ['a part with an empty name', field('')],
  ])('skips %s', (_title, header) => {
    const body = lines('--b', header, '', '1', '--b', field('y'), '', '2', '--b--');
    expect(parseMultipart(body, 'b')).toEqual(fields(['y', '2']));
  });

  it('accepts 1,000 parts and no more', () => {
    const parts = (count: number) =>
      lines(...Array.from({ length: count }, () => `--b\r\n${field('x')}\r\n\r\n1`), '--b--');
    expect(parseMultipart(parts(1000), 'b').kind).toBe('fields');
    expect(parseMultipart(parts(1001), 'b')).toEqual({ kind: 'too_many' });
  });

  it('returns any fields that do not contain the boundary', () => {
    const name = fc.string({ unit: 'grapheme', minLength: 1 }).filter((text) => !/[\r\n\0]/.test(text));
    const value = fc.string({ unit: 'grapheme' });
    fc.assert(
      fc.property(fc.array(fc.tuple(name, value), { maxLength: 5 }), (pairs) => {
        const boundary = 'Zq7Zq7';
        const parts = pairs.flatMap(([n, v]) => [`--${boundary}`, field(n.replace(/["\\]/g, '\\$&')), '', v]);
        expect(parseMultipart(lines(...parts, `--${boundary}--`), boundary)).toEqual(fields(...pairs));
      }),
    );
  });

  it('never throws on pieces of multipart put together at random', () => {
    const piece = fc.constantFrom(
      '\r\n',
      '--b',
      '--',
      '--b--',
      ' ',
      field('x'),
      field('y'),
      'a: b',
      ';',
      '"',
      '1',
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
        const reading = parseMultipart(Buffer.from(pieces.join('')), 'b');
        expect(['fields', 'malformed', 'too_many']).toContain(reading.kind);
        expect(parseMultipart(Buffer.from(pieces.join('')), 'b')).toEqual(reading);
      }),
      { numRuns: 500 },
    );
  });
});

describe('multipartBoundary', () => {
  it.each([
    ['multipart/form-data; boundary=abc', 'abc'],
    ['multipart/form-data; charset=utf-8; BOUNDARY="a b:c"', 'a b:c'],
    ['multipart/form-data', null],
    ['multipart/form-data; boundary=', null],
    ['multipart/form-data; boundary="ends in space "', null],
    ['multipart/form-data; boundary=a; boundary=b', null],
    [`multipart/form-data; boundary=${'x'.repeat(71)}`, null],
    ['multipart/form-data; boundary="a\r\nb"', null],
    ['multipart/form-data; boundary=ü', null],
  ])('of %s is %s', (contentType, boundary) => {
    expect(multipartBoundary(contentType)).toBe(boundary);
  });
});
