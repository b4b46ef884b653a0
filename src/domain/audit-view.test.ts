import { describe, expect, test } from 'vitest';
import { Secret } from '../platform/secret.ts';
import { auditView, CHANGED_SECRET, SECRET } from './audit-view.ts';

const view = (before: object | null, after: object | null) => auditView({ before, after });

test('internal fields and bytes are removed, times become texts, the rest stays', () => {
  const row = { id: 'i', project_id: 'p', version: 3, updated_at: 1, deleted_at: null, last_used_at: 2 };
  expect(
    view(null, { ...row, name: 'n', expires_at: 0, hash: Buffer.from('h'), list: [1, null, true] }),
  ).toEqual({
    before: null,
    after: { name: 'n', expires_at: '1970-01-01T00:00:00.000Z', list: [1, null, true] },
  });
});

describe('a secret', () => {
  const config = (secret: string) => ({ config: { meta_event: { url: 'https://example.com', secret } } });
  const shown = (value: string) => config(value);

  test('that is unchanged has the same mark before and after', () => {
    expect(view(config('s'), config('s'))).toEqual({ before: shown(SECRET), after: shown(SECRET) });
  });

  test('that is changed has another mark after', () => {
    expect(view(config('s'), config('t'))).toEqual({ before: shown(SECRET), after: shown(CHANGED_SECRET) });
  });

  test('that was added or removed is empty on the other side', () => {
    expect(view(config(''), config('t'))).toEqual({ before: shown(''), after: shown(SECRET) });
    expect(view(config('s'), config(''))).toEqual({ before: shown(SECRET), after: shown('') });
  });

  test.each(['token', 'password', 'slack_webhook_url', 'teams_webhook_url'])('is hidden as %s', (name) => {
    expect(view(null, { a: { [name]: 's' } }).after).toEqual({ a: { [name]: SECRET } });
  });
});

describe('a sealed value', () => {
  test('shows only fields known to be no secret', () => {
    const verifier = {
      type: 'hmac',
      hmac: { header: 'X-Sig', hash: 'SHA256', secret: 's', encoding: 'hex' },
    };
    const unknown = { brand_new: 'credential', deep: { list: ['a', { b: 'c' }] }, workers: 3, tls: true };
    expect(view(null, { secret: { verifier, unknown } }).after).toEqual({
      secret: {
        verifier: { ...verifier, hmac: { ...verifier.hmac, secret: SECRET } },
        unknown: { brand_new: SECRET, deep: { list: [SECRET, { b: SECRET }] }, workers: 3, tls: true },
      },
    });
  });

  test('shows no header of an endpoint, whatever its name is', () => {
    const headers = { url: 'a', Host: 'b', type: 'c' };
    expect(view(null, { secret: { headers } }).after).toEqual({
      secret: { headers: { url: SECRET, Host: SECRET, type: SECRET } },
    });
  });

  test('shows no variable of a project, whatever its name is', () => {
    const variables = (host: string) => ({
      variables: new Secret({ url: 'https://a.example', host, endpoint: 'c', type: 'd' }),
    });
    const hidden = { url: SECRET, host: SECRET, endpoint: SECRET, type: SECRET };
    expect(view(variables('b'), variables('other'))).toEqual({
      before: { variables: { secret: hidden } },
      after: { variables: { secret: { ...hidden, host: CHANGED_SECRET } } },
    });
  });

  test('shows no text that may contain a name and password', () => {
    const settings = { host: 'u:p@broker', queue: 'q', endpoint: 'https://u:p@sqs.example.com/x' };
    expect(view(null, { secret: settings }).after).toEqual({
      secret: { host: SECRET, queue: 'q', endpoint: SECRET },
    });
    const at = (endpoint: string) => view(null, { secret: { endpoint } }).after;
    for (const url of ['https://sqs.example.com/?key=p', 'https://u:p@sqs.example.com/?key=p', 'http://h/#p'])
      expect(at(url), url).toEqual({ secret: { endpoint: SECRET } });
    const plain = { secret: { endpoint: 'https://sqs.example.com/x' } };
    expect(view(null, plain).after).toEqual(plain);
  });

  test('compares the items of a list by uid, in any order', () => {
    const list = (...items: object[]) => ({ secret: { secrets: items } });
    const [a, b] = [
      { uid: 'a', value: '1' },
      { uid: 'b', value: '2' },
    ];
    expect(view(list(a, b), list(b, { uid: 'c', value: '3' })).after).toEqual(
      list({ uid: 'b', value: SECRET }, { uid: 'c', value: SECRET }),
    );
    expect(view(list(a), list({ uid: 'a', value: '2' })).after).toEqual(
      list({ uid: 'a', value: CHANGED_SECRET }),
    );
  });
});

describe('name and password of a URL', () => {
  const url = (text: string) => ({ url: text });
  test('are hidden, the rest of it is not', () => {
    expect(view(url('https://u:p@example.com/a'), url('https://u:p@example.com/b?c#d'))).toEqual({
      before: url(`https://${SECRET}@example.com/a`),
      after: url(`https://${SECRET}@example.com/b?c#d`),
    });
    expect(view(url('https://u:p@example.com/a'), url('https://u:q@example.com/a')).after).toEqual(
      url(`https://${CHANGED_SECRET}@example.com/a`),
    );
  });

  test.each([
    'https:u:p@example.com',
    'HTTPS:\\\\u:p@example.com',
    'amqp://:p@example.com',
    ' https://u@e.com',
  ])('are found in %s', (text) => {
    expect(JSON.stringify(view(null, url(text)).after)).toMatch(/^\{"url":"(https|amqp):\/\/\[secret\]@/);
  });

  test.each(['someone@example.com', 'mailto:someone@example.com', 'https://example.com/@user', 'a: b@c'])(
    'are not seen in %s',
    (text) => {
      expect(view(null, url(text)).after).toEqual(url(text));
    },
  );
});

test('texts of any kind are kept exactly', () => {
  const row = {
    name: 'é\u0000\ud800🦉',
    ['__proto__' as string]: 'x',
    filter: { 'a.b': { $in: ['', 1.5] } },
  };
  expect(JSON.stringify(view(row, null).before)).toBe(JSON.stringify(row));
});
