import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { moveSecrets, withSecrets } from './file-secrets.ts';
import { documentText, fieldsOf, parseDocument } from './project-document.ts';
import { type Answers, stateOf } from './read-project.ts';

it.each([
  ['a: [', /^the file is not YAML: /],
  ['[]', 'the file must begin with "version: 1"; posthorn export writes one'],
  ['version: 1\nsetings: {}', 'the file has an unknown section "setings"'],
  ['version: 1\nsettings: [a]', 'settings must be an object'],
  ['version: 1\nendpoints: {}', 'endpoints must be a list'],
  ['version: 1\nendpoints: [{key: a}]', 'endpoint a has no name'],
  ['version: 1\nendpoints: [{key: a, name: a, urll: b}]', 'endpoint a has an unknown field "urll"'],
])('%j is refused', async (text, reason) => {
  await expect(parseDocument(text)).rejects.toThrow(reason);
});

it('everything that is wrong with a file is said at once', async () => {
  const text = `version: 1
setings: {}
endpoints: [{key: a, urll: b}, {name: c}, {key: d, name: d}]
subscriptions: [{key: e, name: e, endpoint: a, source: f}, {key: g, name: g, endpoint: h}]`;
  await expect(parseDocument(text)).rejects.toThrow(
    [
      'the file has an unknown section "setings"',
      'endpoint a has an unknown field "urll"',
      'endpoint a has no name',
      'item 2 of endpoints has no key',
      'subscription e names a source that is not in the file',
      'subscription g names an endpoint that is not in the file',
    ].join('\n'),
  );
});

it('an empty section counts as none', async () => {
  expect(await parseDocument('version: 1\nsettings:\nendpoints:\n')).toEqual({
    version: 1,
    settings: {},
    event_types: [],
    sources: [],
    endpoints: [],
    subscriptions: [],
  });
});

it('a key that is not JSON is refused, and the error does not quote it', async () => {
  const oauth2 = { authentication_type: 'client_assertion', signing_key: 'env:KEY' };
  const item = { key: 'a', authentication: { type: 'oauth2', oauth2 } };
  const filled = withSecrets('endpoints', item, { stored: undefined, env: { KEY: 'hush' } });
  await expect(filled).rejects.toThrow(
    'authentication.oauth2.signing_key of endpoint a is not JSON; give it a JSON Web Key',
  );
  await expect(filled).rejects.not.toThrow('hush');
});

it('headers come from outside the file, as JSON; an empty object removes them', async () => {
  const stored = { headers: { 'X-Tenant': 'stored' } };
  const filled = (headers: unknown) =>
    withSecrets('endpoints', { key: 'a', headers }, { stored, env: { GOOD: '{"X-A":"b"}', BAD: 'hush' } });
  expect((await filled('env:GOOD')).headers).toEqual({ 'X-A': 'b' });
  expect((await filled('')).headers).toEqual(stored.headers);
  expect((await filled({})).headers).toEqual({});
  await expect(filled({ 'X-A': 'b' })).rejects.toThrow('headers of endpoint a is written in the file');
  await expect(filled('env:BAD')).rejects.toThrow('not JSON; give it a JSON object of texts');
});

it('a key cannot put a secret into another folder', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'posthorn-secrets-'));
  try {
    await moveSecrets(join(folder, 'in'), 'endpoints', { key: 'a/../../out', secret: 'hush' });
    expect(readdirSync(folder)).toEqual(['in']);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

it('a line break in a comment does not end it', async () => {
  const document = await parseDocument('version: 1');
  const text = await documentText(document, ['a\nendpoints: [{key: b, name: b}]']);
  expect((await parseDocument(text)).endpoints).toEqual([]);
});

it('every field that the file has of a resource is read from the service', () => {
  /** They are found by another name, or made of several fields. */
  const made = [
    'endpoint',
    'source',
    'event_types',
    'filter',
    'filters',
    'retry_config',
    'secret',
    'status',
    'headers',
  ];
  const choices = ['verifier', 'pub_sub', 'authentication', 'broker', 'signing_key', 'custom_response'];
  for (const kind of ['sources', 'endpoints', 'subscriptions'] as const) {
    const names = Object.keys(fieldsOf[kind]).filter((name) => ![...made, ...choices].includes(name));
    const given = Object.fromEntries(names.map((name) => [name, `value of ${name}`]));
    const none = { eventTypes: [], sources: [], endpoints: [], subscriptions: [], filters: new Map() };
    const answers = { ...none, project: { config: {} }, [kind]: [{ uid: 'uid', key: 'key', ...given }] };
    expect(stateOf(answers as unknown as Answers).whole[kind].get('key')).toMatchObject(given);
  }
});
