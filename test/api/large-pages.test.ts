import { beforeAll, expect, test } from 'vitest';
import { startTestApp, subscribe } from '../support/app.ts';
import type { Json } from '../support/client.ts';
import { shared } from '../support/shared.ts';

/** Lists are bounded by bytes too: a page of large payloads ends early, with the right cursor. */
const EVENTS = 30;
const PAYLOAD_BYTES = 900_000;
/** Twice the bound of a page, since an event shows its payload as `data` and as `raw`, and room for the rest. */
const MOST_BYTES = 17_000_000;

const app = await shared(startTestApp());

beforeAll(async () => {
  await subscribe(app.project, 'http://127.0.0.1:1/');
  const data = 'x'.repeat(PAYLOAD_BYTES);
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

test.each(['/events', '/eventdeliveries', '/eventdeliveries?status=Scheduled&status=Retry'])(
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
