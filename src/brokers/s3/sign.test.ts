import { expect, test } from 'vitest';
import { encodePath, signed } from './sign.ts';

/** The examples in Amazon's documentation of the signature: `PUT Object` and `GET Object`. */
const key = { id: 'AKIAIOSFODNN7EXAMPLE', secret: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY', token: null };
const scope = { region: 'us-east-1', service: 's3', atMs: Date.parse('2013-05-24T00:00:00Z') };

test('signs as Amazon does', () => {
  const put = {
    method: 'PUT',
    path: '/test%24file.text',
    headers: {
      date: 'Fri, 24 May 2013 00:00:00 GMT',
      host: 'examplebucket.s3.amazonaws.com',
      'x-amz-storage-class': 'REDUCED_REDUNDANCY',
    },
    body: Buffer.from('Welcome to Amazon S3.'),
  };
  expect(signed(put, key, scope)['authorization']).toBe(
    'AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, SignedHeaders=date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class, Signature=98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd',
  );
  const get = {
    method: 'GET',
    path: '/test.txt',
    headers: { host: 'examplebucket.s3.amazonaws.com', range: 'bytes=0-9' },
    body: Buffer.alloc(0),
  };
  expect(signed(get, key, scope)['authorization']).toContain(
    'Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
  );
});

test('the token of a session is sent and signed', () => {
  const get = { method: 'GET', path: '/', headers: { host: 'h' }, body: Buffer.alloc(0) };
  const headers = signed(get, { ...key, token: 'of a session' }, scope);
  expect(headers['x-amz-security-token']).toBe('of a session');
  expect(headers['authorization']).toContain(';x-amz-security-token,');
});

test('a path is encoded as Amazon encodes it', () => {
  expect(encodePath("a b/ü+(1)*!'~.-_")).toBe('a%20b/%C3%BC%2B%281%29%2A%21%27~.-_');
});
