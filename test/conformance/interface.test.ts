import { expect, test } from 'vitest';
import { startTestApp } from '../support/app.ts';
import { Receiver } from '../support/servers/receiver.ts';
import { shared } from '../support/shared.ts';
import { Journey, type Send, withQuery } from './journey.ts';

/** The operations of the interface, as its document has them: the key stands alone in the header. */
const app = await shared(startTestApp({ POSTHORN_DEFAULTS: 'standard' }));
const receiver = await shared(Receiver.start());
const called = new Set<string>();

const send: Send = async (method, path, { body, query } = {}) => {
  called.add(`${method} ${path.replaceAll(/\b[0-9A-HJKMNP-TV-Z]{26}\b/g, '-')}`);
  const headers = { authorization: app.project.key };
  const response = await app.project.raw(method, withQuery(path, query), { body, headers });
  return { status: response.status, answer: await response.json() };
};

const OPERATIONS = [
  'POST /portal-links',
  'GET /portal-links',
  'GET /portal-links/-',
  'PUT /portal-links/-',
  'POST /subscriptions',
  'GET /subscriptions',
  'GET /subscriptions/-',
  'PUT /subscriptions/-',
  'GET /subscriptions/-/filters/-',
  'POST /sources',
  'GET /sources',
  'GET /sources/-',
  'PUT /sources/-',
  'GET /endpoints/-',
  'PUT /endpoints/-/pause',
  'PUT /endpoints/-/expire_secret',
  'POST /events/broadcast',
  'GET /eventdeliveries/-',
  'GET /eventdeliveries/-/deliveryattempts',
  'GET /eventdeliveries/-/deliveryattempts/-',
  'GET /meta-events',
];

// differs Events and deliveries: `incoming` and `outgoing` are labels: sources and event calls work in both.
// differs Requests and answers: Arrays are never null, times have milliseconds, an absent time is null and not
//   the year 1. Clients fail on null lists.
// differs Requests and answers: Event calls answer with the event; Convoy with null. convoy-python fails on
//   null.
// differs Requests and answers: Events show `raw`, `metadata` and `source_metadata` in short form. Convoy leaves
//   them empty.
test('the 21 operations answer with their code and every field', async () => {
  await new Journey(send, receiver.url).run();
  expect(OPERATIONS.filter((operation) => !called.has(operation))).toEqual([]);
});
