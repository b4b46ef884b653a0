import { describe, expect, test } from 'vitest';
import { readProviders } from './oidc-providers.ts';

const one = { name: 'main', issuer: 'https://id.example.com', client_id: 'posthorn' };
const read = (...providers: object[]) => readProviders(JSON.stringify(providers));

test('a provider needs a name, an issuer and a client; the rest has defaults', () => {
  expect(read(one)).toEqual([
    {
      name: 'main',
      title: 'main',
      issuer: 'https://id.example.com',
      clientId: 'posthorn',
      clientSecret: null,
      domains: [],
      createsAccounts: false,
      scopes: 'openid email profile',
      groupsClaim: 'groups',
      groups: [],
      hasSecondFactor: false,
    },
  ]);
});

test('groups give a role in a project, or the administration of the instance', () => {
  const groups = [
    { group: 'a', project: 'P', role: 'viewer' },
    { group: 'b', instance_admin: true },
  ];
  expect(read({ ...one, groups })[0]?.groups).toEqual([
    { group: 'a', gives: { projectId: 'P', role: 'viewer' } },
    { group: 'b', gives: 'instance' },
  ]);
});

describe('refused is', () => {
  test.each([
    ['{"client_secret": "hush"', 'a JSON array'],
    ['{}', 'a JSON array'],
    ['[1]', 'an object for each'],
    [JSON.stringify([{ ...one, secret: 'hush' }]), 'without a field "secret"'],
    [JSON.stringify([{ ...one, name: 'Two Words' }]), 'a name of'],
    [JSON.stringify([{ ...one, name: 'password' }]), 'a name of'],
    [JSON.stringify([one, one]), 'different names'],
    [JSON.stringify([{ ...one, issuer: 'http://id.example.com' }]), 'https://'],
    [JSON.stringify([{ ...one, issuer: 'http://localhost.example.com' }]), 'https://'],
    [JSON.stringify([{ ...one, client_id: '' }]), 'client_id'],
    [JSON.stringify([{ ...one, domains: 'example.com' }]), 'domains'],
    [JSON.stringify([{ ...one, create_accounts: 'yes' }]), 'create_accounts'],
    [JSON.stringify([{ ...one, groups: [{ group: 'a', role: 'owner', project: 'P' }] }]), 'a role'],
    [JSON.stringify([{ ...one, groups: [{ group: 'a', role: 'viewer' }] }]), 'project'],
  ])('%s', (value, expected) => {
    expect(() => readProviders(value)).toThrow(expected);
    expect(() => readProviders(value)).not.toThrow('hush');
  });
});
