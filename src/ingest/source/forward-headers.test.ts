import { describe, expect, it } from 'vitest';
import { compileHeaderPolicy } from './forward-headers.ts';

const noop = { provider: '', verifier: { type: 'noop' } } as const;
const visible = new Set<string>();
const received = {
  host: 'hooks.example.com',
  connection: 'keep-alive, X-Hop',
  'x-hop': 'only here',
  'transfer-encoding': 'chunked',
  'content-type': 'application/json',
  'content-length': '2',
  'content-encoding': 'gzip',
  authorization: 'Bearer secret',
  cookie: 'session=1',
  'x-api-key': 'secret',
  'x-github-event': 'push',
  'x-many': ['a', 'b'],
  'x-hub-signature-256': 'sha256=ff',
  'x-absent': undefined,
};

describe('stored headers', () => {
  it('are all but credentials and those of the connection, under their usual names', () => {
    expect(compileHeaderPolicy({ ...noop, forward_headers: [] }).stored(received, visible)).toEqual({
      'Content-Type': ['application/json'],
      'Content-Length': ['2'],
      'Content-Encoding': ['gzip'],
      'X-Github-Event': ['push'],
      'X-Many': ['a', 'b'],
      'X-Hub-Signature-256': ['sha256=ff'],
    });
  });

  it('include headers that only look like credentials, and those the project lists as visible', () => {
    const headers = { 'x-shop-key': 'a', 'x-api-key': 'b', cookie: 'c' };
    const listed = new Set(['x-api-key', 'cookie']);
    const { stored } = compileHeaderPolicy({ ...noop, forward_headers: [] });
    expect(stored(headers, visible)).toEqual({ 'X-Shop-Key': ['a'] });
    expect(stored(headers, listed)).toEqual({ 'X-Shop-Key': ['a'], 'X-Api-Key': ['b'] });
  });

  it('omit the header that the verifier relies on', () => {
    const hmac = { header: 'X-Many', hash: 'SHA256', secret: 's', encoding: 'hex' };
    const verifier = { type: 'hmac', hmac } as const;
    const own = compileHeaderPolicy({ provider: '', verifier, forward_headers: [] }).stored(
      received,
      visible,
    );
    const github = compileHeaderPolicy({ provider: 'github', verifier, forward_headers: [] }).stored(
      received,
      visible,
    );
    expect(Object.keys(own)).not.toContain('X-Many');
    expect(Object.keys(own)).toContain('X-Hub-Signature-256');
    expect(Object.keys(github)).not.toContain('X-Hub-Signature-256');
    expect(Object.keys(github)).toContain('X-Many');
  });

  it('keep a header called __proto__ without touching the prototype', () => {
    const headers = JSON.parse('{"__proto__":"x","constructor":"y"}') as Record<string, string>;
    const stored = compileHeaderPolicy({ ...noop, forward_headers: [] }).stored(headers, visible);
    expect(Object.getPrototypeOf(stored)).toBe(Object.prototype);
    expect(Object.entries(stored)).toEqual([
      ['__proto__', ['x']],
      ['Constructor', ['y']],
    ]);
  });
});

describe('forwarded headers', () => {
  it('are only those listed, in any case', () => {
    const policy = compileHeaderPolicy({
      ...noop,
      forward_headers: ['X-GITHUB-event', ' x-many ', 'X-Absent'],
    });
    expect(policy.forwarded(received)).toEqual({ 'X-Github-Event': ['push'], 'X-Many': ['a', 'b'] });
    expect(compileHeaderPolicy({ ...noop, forward_headers: [] }).forwarded(received)).toEqual({});
  });

  it('never include those of the connection or of the delivery itself, even if listed', () => {
    const names = Object.keys(received);
    expect(Object.keys(compileHeaderPolicy({ ...noop, forward_headers: names }).forwarded(received))).toEqual(
      ['Authorization', 'Cookie', 'X-Api-Key', 'X-Github-Event', 'X-Many', 'X-Hub-Signature-256'],
    );
  });

  it('give the caller arrays of their own', () => {
    const headers = { 'x-many': ['a'] };
    const forwarded = compileHeaderPolicy({ ...noop, forward_headers: ['x-many'] }).forwarded(headers);
    forwarded['X-Many']?.push('b');
    expect(headers['x-many']).toEqual(['a']);
  });
});
