import { beforeAll, expect, test } from 'vitest';
import { startTestApp, subscribe } from '../../support/app.ts';
import type { Json } from '../../support/client.ts';
import { shared } from '../../support/shared.ts';

/** Lists are bounded by bytes too: a page of large payloads ends early, with the right cursor. These make three pages. */
const EVENTS = 20;
const PAYLOAD_BYTES = 900_000;
/** Twice the bound of a page, since an event shows its payload as `data` and as `raw`, and room for the rest. */
const MOST_BYTES = 17_000_000;

const app = await shared(startTestApp());

beforeAll(async () => {
  await subscribe(app.project, 'http://127.0.0.1:1/');
  const data = { kind: 'large', text: 'x'.repeat(PAYLOAD_BYTES) };
  for (let n = 0; n < EVENTS; n++) await app.project.post('/events/broadcast', { event_type: 'large', data });
});

interface Walk {
  ids: string[];
  pages: Json[];
  largestBytes: number;
}

async function walk(path: string, direction: 'next' | 'prev', start = ''): Promise<Walk> {
  const walked: Walk = { ids: [], pages: [], largestBytes: 0 };
  for (let cursor: string | null = start; cursor !== null; ) {
    const from = cursor === '' ? '' : `&${direction}_page_cursor=${cursor}&direction=${direction}`;
    const answer = await app.project.raw('GET', `${path}${from}`);
    expect(answer.status).toBe(200);
    const text = await answer.text();
    walked.largestBytes = Math.max(walked.largestBytes, text.length);
    const { content, pagination } = (JSON.parse(text) as Json).data;
    const ids = content.map(({ uid }: Json) => uid);
    walked.ids = direction === 'next' ? [...walked.ids, ...ids] : [...ids, ...walked.ids];
    walked.pages.push(pagination);
    cursor = pagination[`has_${direction}_page`] ? pagination[`${direction}_page_cursor`] : null;
  }
  return walked;
}

const SEARCH = `/events?query=${encodeURIComponent('{"kind":"large"}')}`;

test.each(['/events', SEARCH, '/eventdeliveries', '/eventdeliveries?status=Scheduled&status=Retry'])(
  'a page of large payloads of %s ends early; a walk meets each row once, both ways',
  async (list) => {
    const path = `${list}${list.includes('?') ? '&' : '?'}perPage=1000`;
    const forward = await walk(path, 'next');
    expect(forward.ids).toHaveLength(EVENTS);
    expect(new Set(forward.ids).size).toBe(EVENTS);
    expect(forward.pages.length).toBeGreaterThan(2);
    expect(forward.largestBytes).toBeLessThan(MOST_BYTES);
    const last = forward.ids.at(-1) ?? '';
    const backward = await walk(path, 'prev', last);
    expect(backward.ids).toEqual(forward.ids.slice(0, -1));
    expect(backward.pages.length).toBeGreaterThan(2);
    expect(backward.largestBytes).toBeLessThan(MOST_BYTES);
  },
);

test('one payload larger than the bound is a page of its own', async () => {
  const other = await app.addNode({ POSTHORN_MAX_BODY_BYTES: '40000000' });
  await app.project.put('', { config: { max_payload_read_size: 20_000_000 } });
  const url = `${other.url}/api/v1/projects/${app.projectId}/events/broadcast`;
  const body = JSON.stringify({ event_type: 'huge', data: 'x'.repeat(12_000_000) });
  const headers = { authorization: app.project.key, 'content-type': 'application/json' };
  expect((await fetch(url, { method: 'POST', headers, body })).status).toBe(201);
  const { content, pagination } = await app.project.get('/events?perPage=5');
  expect(content).toHaveLength(1);
  expect(pagination.has_next_page).toBe(true);
});

// differs Requests and answers: All attempts are listed, beyond 8 MB the oldest without headers and
//   `response_data`. Convoy lists ten.
test('the attempts of one delivery are listed with 8 MB of responses, and each can be read whole', async () => {
  const [delivery] = (await app.project.get('/eventdeliveries?perPage=1')).content;
  const path = `/eventdeliveries/${delivery.uid}/deliveryattempts`;
  const COUNT = 300;
  await app.database.query(
    `insert into delivery_attempts (id, delivery_id, project_id, endpoint_id, succeeded, is_stale, record, response_body,
       requested_at)
     select left($1, 10) || 'ZZZZZZZZZZZZZ' || to_char(n, 'FM000'), $1, $2, $3, false, false,
       case when n > 1 then '[[1.5],null,"/",null,"200 OK",1,1,"a","b","c","d"]'
         else '[[1.5],null,"/",null,"200 OK",1,1,"a","b","c","' || repeat('d', 2000) || '"]' end,
       convert_to(repeat('x', 50000), 'UTF8'), now()
     from generate_series(1, ${COUNT}) n`,
    [delivery.uid, app.projectId, delivery.endpoint_id],
  );
  const answer = await app.project.raw('GET', path);
  const text = await answer.text();
  expect(text.length).toBeLessThan(9_000_000);
  const { data, warnings } = JSON.parse(text) as Json;
  const made = data.filter(({ uid }: Json) => uid.includes('ZZZZZZZZZZZZZ'));
  expect(made).toHaveLength(COUNT);
  const whole = made.filter(({ response_data }: Json) => response_data.length === 50_000);
  expect(whole).toEqual(made.slice(-whole.length));
  expect(whole.length).toBeGreaterThan(100);
  const [oldest] = made;
  const left = { response_data: '', request_http_header: {}, response_http_header: {} };
  // Its headers are too long to be read with all others. Its URL is among them.
  expect(oldest).toMatchObject({ ...left, url: '', error: expect.stringContaining('Too large') });
  expect(made[1]).toMatchObject({ ...left, url: '/', http_status: '200 OK', timings: { totalMs: 1.5 } });
  expect(String(warnings)).toContain(`${made.length - whole.length} oldest attempts`);
  const alone = await app.project.get(`${path}/${oldest.uid}`);
  expect(alone.response_data).toHaveLength(50_000);
  expect(alone).toMatchObject({ url: '/', request_http_header: { a: 'b' }, error: '' });
});
