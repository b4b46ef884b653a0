import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Attempt } from './attempt.ts';
import { AttemptTemplates, type StoredTemplate } from './attempt-templates.ts';
import { type PackedAttempt, unpacked } from './packed-attempt.ts';

const of = { projectId: 'p', endpointId: 'e', deliveryId: 'the-delivery' };

function attemptOf(fields: Partial<Attempt> = {}): Attempt {
  return {
    id: 'a',
    url: 'https://example.com/hook',
    ipAddress: '127.0.0.1',
    httpStatus: '200 OK',
    outcome: 'http_200',
    error: null,
    succeeded: true,
    requestHeaders: { 'Content-Type': 'application/json', 'webhook-id': 'the-delivery' },
    responseHeaders: { date: ['Tue'], 'set-cookie': ['a=1', 'b=2'] },
    responseBody: null,
    timings: { totalMs: 1.5 },
    requestedAtMs: 0,
    ...fields,
  };
}

const read = (packed: PackedAttempt, template: Pick<StoredTemplate, 'text'> | null) =>
  unpacked({
    delivery_id: 'the-delivery',
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

test('whatever an endpoint gets and answers, an attempt reads as it was', () => {
  const name = fc.constantFrom('a', 'b', 'c', 'webhook-id', 'é\u0000');
  const value = fc.oneof(
    fc.constantFrom('1', '2', 'the-delivery', '', '0'),
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
