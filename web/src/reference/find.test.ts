import { expect, it } from 'vitest';
import { find, type Item } from './find.ts';

const item = (title: string, detail = '', words = ''): Item => ({
  title,
  kind: words === '' ? 'schema' : 'GET',
  detail,
  words,
  href: `/docs/x#${title}`,
});

const items = [
  item('Test filter', '/subscriptions/test_filter', 'testFilter Test a filter on a request.'),
  item('Create endpoint', '/endpoints', 'createEndpoint Create an endpoint, with its subscriptions.'),
  item('List endpoints', '/endpoints', 'listEndpoints List endpoints.'),
  item('Endpoint'),
  item('EndpointHealth'),
  item('CreateEndpoint'),
  item('Pause endpoint', '/endpoints/{endpointID}/pause', 'pauseEndpoint Pause an active endpoint.'),
];
const titles = (text: string) => find(items, text).map(({ title }) => title);

it('finds by the title: whole names first, then operations, then schemas', () => {
  const operations = ['Create endpoint', 'List endpoints', 'Pause endpoint'];
  expect(titles('endpoint')).toEqual(['Endpoint', ...operations, 'EndpointHealth', 'CreateEndpoint']);
});

it('finds by the id, the path and the summary', () => {
  expect(titles('createEndpoint')).toEqual(['Create endpoint', 'CreateEndpoint']);
  expect(titles('test_filter')).toEqual(['Test filter']);
  expect(titles('active')).toEqual(['Pause endpoint']);
});

it('wants every word, in any order', () => {
  expect(titles('endpoint  PAUSE')).toEqual(['Pause endpoint']);
  expect(titles('pause filter')).toEqual([]);
});

it('finds nothing for no text, and no more than can be looked through', () => {
  expect(titles('  ')).toEqual([]);
  expect(
    find(
      Array.from({ length: 100 }, (_, i) => item(`Endpoint ${i}`)),
      'endpoint',
    ),
  ).toHaveLength(20);
});
