import { expect, test } from 'vitest';
import { isCredential, isCredentialName, mayBeVisible, visibleHeaders } from './credential-headers.ts';
import { defaultProjectConfig } from './project-config.ts';

const config = defaultProjectConfig('', '');
const visible = visibleHeaders(config);

test.each([
  'Authorization',
  'PROXY-AUTHORIZATION',
  'cookie',
  'Set-Cookie',
  'X-Shop-Token',
  'X-Amz-Security-Token',
  'x-hasura-admin-secret',
  'Client-Secret',
  'X-Password',
  'X-Db-Passwd',
  'X-Api-Key',
  'apikey',
  'Ocp-Apim-Subscription-Key',
  'X-Forwarded-Authorization',
  'Cf-Access-Jwt-Assertion',
  'X-Auth',
  'X-Amzn-Oidc-Data',
  `X-${'very-'.repeat(40)}long-token`,
])('%s is a credential', (name) => {
  expect(isCredentialName(name, visible)).toBe(true);
  expect(isCredentialName(name, visible)).toBe(true);
});

test.each([
  'Content-Type',
  'webhook-id',
  'webhook-timestamp',
  'webhook-signature',
  'X-Convoy-Signature',
  'X-Convoy-Idempotency-Key',
  'Idempotency-Key',
  'x-idempotencykey',
  'X-Cache-Key',
  'X-Ratelimit-Remaining-Tokens',
  'Keep-Alive',
  'Author',
  'X-Request-Id',
  'traceparent',
  'x-broker-message-id',
])('%s is not a credential', (name) => {
  expect(isCredentialName(name, visible)).toBe(false);
});

test('a project shows the headers it lists and the custom names of our headers, in any case', () => {
  const own = visibleHeaders({
    ...config,
    visible_headers: ['X-Sort-KEY'],
    request_id_header: 'X-Once-Key',
    signature: { ...config.signature, header: 'X-Token-Signature' },
  });
  for (const name of ['x-sort-key', 'X-ONCE-KEY', 'X-Token-Signature'])
    expect([isCredentialName(name, visible), isCredentialName(name, own)]).toEqual([true, false]);
  expect(isCredentialName('X-Sort-Keys', own)).toBe(true);
});

test('authorization and cookie stay credentials even if listed', () => {
  for (const name of ['Authorization', 'Proxy-Authorization', 'Cookie', 'Set-Cookie']) {
    expect(mayBeVisible(name)).toBe(false);
    expect(isCredentialName(name, new Set([name.toLowerCase()]))).toBe(true);
  }
  expect(mayBeVisible('X-Api-Key')).toBe(true);
});

test('a name that has the credential of one request is hidden there, even if it is listed', () => {
  const owner = { credentials: ['x-own'], visible: new Set(['x-own']) };
  expect(isCredential('X-Own', owner)).toBe(true);
  expect(isCredential('X-Other', owner)).toBe(false);
});

test('names beyond the cache limit are classified the same way', () => {
  for (let index = 0; index < 5_000; index += 1) {
    expect(isCredentialName(`X-${index}`, visible)).toBe(false);
    expect(isCredentialName(`X-${index}-Token`, visible)).toBe(true);
  }
});
