import { expect, test } from 'vitest';
import { welcome } from './welcome.ts';

const link = 'http://127.0.0.1:5005/sign-in#link=token';
const url = 'http://127.0.0.1:5005';
const file = '/var/lib/posthorn/credentials.json';
const credentials = { url, project_id: 'project', api_key: 'CO.key', instance_key: 'CO.instance' };

test('a first start shows the key of its project on a terminal, and how to use it', () => {
  const text = welcome({ url, credentials, file, isTerminal: true, hasFile: true, link });
  expect(text.split('\n').filter((line) => line.endsWith(link)).length).toBe(1);
  expect(text).toContain('key      CO.key');
  expect(text).toContain("-H 'Authorization: CO.key'");
  expect(text).toContain(file);
  expect(text).not.toContain('CO.instance');
});

test('a first start without a terminal names the file with the keys', () => {
  const text = welcome({ url, credentials, file, isTerminal: false, hasFile: true, link: null });
  expect(text).toContain('posthorn sign-in-link');
  expect(text).toContain(`Posthorn is ready at ${url} `);
  expect(text).toContain(file);
  expect(text).not.toContain('CO.');
});

test('a later start shows no key', () => {
  expect(welcome({ url, credentials: null, file, isTerminal: true, hasFile: true, link: null })).toContain(
    file,
  );
  const without = welcome({ url, credentials: null, file, isTerminal: true, hasFile: false, link: null });
  expect(without).toBe(`Posthorn is ready at ${url}\n`);
});
