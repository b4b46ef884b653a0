import fc from 'fast-check';
import { expect, test } from 'vitest';
import { firstIdAt } from '../../domain/ids.ts';
import type { Attempt } from './attempt.ts';
import { AttemptTemplates, type StoredTemplate } from './attempt-templates.ts';
import { type PackedAttempt, unpacked } from './packed-attempt.ts';

const AT_MS = Date.UTC(2026, 10, 17, 14, 35, 45, 999);
const DELIVERY = firstIdAt(AT_MS - 5_000);
const of = { projectId: 'p', endpointId: 'e', deliveryId: DELIVERY };

function attemptOf(fields: Partial<Attempt> = {}): Attempt {
  return {
    id: firstIdAt(AT_MS),
    url: 'https://example.com/hook',
    ipAddress: '127.0.0.1',
    httpStatus: '200 OK',
    outcome: 'http_200',
    error: null,
    succeeded: true,
    requestHeaders: { 'Content-Type': 'application/json', 'webhook-id': DELIVERY },
    responseHeaders: { date: ['Tue'], 'set-cookie': ['a=1', 'b=2'] },
    responseBody: null,
    timings: { totalMs: 1.5 },
    requestedAtMs: 0,
    ...fields,
  };
}

const read = (packed: PackedAttempt, template: Pick<StoredTemplate, 'text'> | null) =>
  unpacked({
    id: firstIdAt(AT_MS),
    delivery_id: DELIVERY,
    template_id: packed.templateId,
    record: packed.record,
    template: template?.text ?? null,
  });

const recorded = ({
  url,
  ipAddress,
  httpStatus,
  error,
  requestHeaders,
  responseHeaders,
  timings,
}: Attempt) => ({
  url,
  ipAddress,
  httpStatus,
  error,
  requestHeaders,
  responseHeaders,
  timings,
});

/** Texts that have a short form, or look as if they had. */
const SHORTENED = [
  't=1794926145,v1=78594b089fe40c002b27e68dfc306de1b0530390ac63e21a0f6880fb8e3998a5',
  '78594B089FE40C002B27E68DFC306DE1B0530390AC63E21A0F6880FB8E3998A5',
  `f${'0'.repeat(64)}`,
  'Tue, 17 Nov 2026 14:35:44 GMT',
  'Mon, 17 Nov 2026 14:35:44 GMT',
  'Tue, 31 Feb 2026 14:35:44 GMT',
  'Tue, 17 Nov 2099 14:35:44 GMT',
  '1794926145',
  '0794926145',
  '17949261450',
  '9999999999',
  'b4f1c2a0-0fae-4604-ba67-36f36a63bb81',
  '~',
  '~i ~~t1; ~d0; ~u ~h',
  `~h${'A'.repeat(43)}`,
];

test('a record has short forms of digests, of times near its own and of its delivery', () => {
  const templates = new AttemptTemplates();
  const signature = 't=1794926145,v1=78594b089fe40c002b27e68dfc306de1b0530390ac63e21a0f6880fb8e3998a5';
  const attempt = (n: number) =>
    attemptOf({
      requestHeaders: {
        'webhook-id': n === 9 ? DELIVERY : `other ${n}`,
        signature: n === 9 ? signature : `${n}`,
      },
      responseHeaders: { date: [n === 9 ? 'Tue, 17 Nov 2026 14:35:46 GMT' : `day ${n}`] },
    });
  const packs = Array.from({ length: 10 }, (_, n) => templates.pack(of, attempt(n)).packed.record);
  expect(packs[9]).toBe('[[1.5],null,"~i","t=~t0;,v1=~heFlLCJ_kDAArJ-aN_DBt4bBTA5CsY-IaD2iA-445mKU","~d1;"]');
});

test('a place whose values have no short form is searched no more, and a ~ in it still reads as it was', () => {
  const templates = new AttemptTemplates();
  const pack = (etag: string) =>
    templates.pack(of, attemptOf({ requestHeaders: { etag }, responseHeaders: null }));
  for (let n = 0; n < 20; n++) pack(`plain ${n}`);
  expect(pack('1794926145').packed.record).toBe('[[1.5],null,"1794926145"]');
  const { packed, template } = pack('~i');
  expect(packed.record).toBe('[[1.5],null,"~~i"]');
  expect(read(packed, template).requestHeaders).toEqual({ etag: '~i' });
});

test('whatever an endpoint gets and answers, an attempt reads as it was', () => {
  const name = fc.constantFrom('a', 'b', 'c', 'webhook-id', 'é\u0000');
  const value = fc.oneof(
    fc.constantFrom('1', '2', DELIVERY, '', '0', ...SHORTENED),
    fc.string({ unit: 'binary', maxLength: 8 }),
  );
  const time = fc.option(
    fc.integer({ min: 0, max: 60_000_000 }).map((us) => us / 1000),
    { nil: undefined },
  );
  const attempts = fc.record({
    url: fc.constantFrom('http://x/', 'http://x/?y'),
    ipAddress: fc.option(fc.constantFrom('1', '2')),
    httpStatus: fc.option(fc.constantFrom('200 OK', '500')),
    error: fc.option(value),
    requestHeaders: fc.dictionary(name, value),
    responseHeaders: fc.option(fc.dictionary(name, fc.array(value, { maxLength: 3 }))),
    timings: fc.record({ totalMs: time.map((ms) => ms ?? 0), firstByteMs: time, tlsMs: time }),
  });
  fc.assert(
    fc.property(fc.array(attempts, { maxLength: 30 }), (list) => {
      const templates = new AttemptTemplates();
      for (const fields of list) {
        const { timings, ...others } = fields;
        const measured = Object.fromEntries(Object.entries(timings).filter(([, ms]) => ms !== undefined));
        const attempt = attemptOf({ ...others, timings: measured as Attempt['timings'] });
        const { packed, template } = templates.pack(of, attempt);
        expect(read(packed, template)).toEqual(recorded(attempt));
      }
    }),
  );
});

test('attempts that differ in a few values share a template, and an attempt has only those values', () => {
  const templates = new AttemptTemplates();
  const packs = Array.from({ length: 20 }, (_, n) =>
    templates.pack(
      of,
      attemptOf({ responseHeaders: { date: [`second ${n}`] }, requestHeaders: { id: of.deliveryId } }),
    ),
  );
  expect(packs.slice(0, 3).every(({ template }) => template === null)).toBe(true);
  expect(new Set(packs.slice(3).map(({ template }) => template?.id)).size).toBe(1);
  expect(packs[10]?.packed.record).toBe('[[1.5],null,"second 10"]');
});

test('a template that leaves too little open is followed by one that leaves more', () => {
  const templates = new AttemptTemplates();
  for (let n = 0; n < 10; n++) templates.pack(of, attemptOf());
  const ids = Array.from({ length: 10 }, (_, n) => {
    const { template } = templates.pack(
      of,
      attemptOf({ url: `https://example.com/?n=${n}`, httpStatus: `${n % 2}` }),
    );
    return template?.id;
  });
  expect(ids[0]).toBeTypeOf('number');
  expect(new Set(ids.slice(2)).size).toBe(1);
});

test('what an endpoint can make a node store and hold is bounded', () => {
  const templates = new AttemptTemplates();
  const made = new Set<number>();
  for (let n = 0; n < 400; n++) {
    // Two of each shape, so that there is something to learn.
    const headers = { [`x-${Math.floor(n / 2)}`]: [String(n)] };
    const { template } = templates.pack(of, attemptOf({ responseHeaders: headers }));
    if (template !== null) made.add(template.id);
  }
  expect(made.size).toBe(16);
  const long = attemptOf({ responseHeaders: { long: ['x'.repeat(3_000)] } });
  const other = { ...of, endpointId: 'long' };
  for (let n = 0; n < 10; n++) expect(templates.pack(other, long).template).toBeNull();
});

test('a template is used for a day', () => {
  let nowMs = 0;
  const templates = new AttemptTemplates(() => nowMs);
  const next = () => templates.pack(of, attemptOf()).template?.id;
  const [, , , first] = [next(), next(), next(), next()];
  nowMs = 86_399_000;
  expect(next()).toBe(first);
  nowMs = 86_400_000;
  expect(next()).toBeUndefined();
});

test('without its template an attempt still has its own values', () => {
  const templates = new AttemptTemplates();
  const packs = Array.from({ length: 9 }, (_, n) =>
    templates.pack(of, attemptOf({ requestHeaders: { date: `day ${n}` } })),
  );
  const { packed } = packs[8] as (typeof packs)[number];
  expect(read(packed, null)).toMatchObject({
    requestHeaders: { 'value-1': 'day 8' },
    timings: { totalMs: 1.5 },
    error: `The rest of this attempt cannot be shown: template ${packed.templateId} is missing.`,
  });
});
