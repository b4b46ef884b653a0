import { expect, test } from 'vitest';
import { actorFrom, changeOf, INSTANCE } from './audit.ts';

test('an actor is read back from its columns; without a name it is the service', () => {
  const row = (actor_type: string, actor_id: string | null) => ({
    actor_type,
    actor_id,
    actor_credential_id: null,
    actor_address: null,
  });
  expect(actorFrom(row('portal_link', 'l'))).toEqual({ type: 'portal_link', id: 'l' });
  expect(actorFrom({ ...row('person', 'p'), actor_credential_id: 's', actor_address: '::1' })).toEqual({
    type: 'person',
    id: 'p',
    credentialId: 's',
    address: '::1',
  });
  expect(actorFrom(row('instance', null))).toEqual(INSTANCE);
  expect(actorFrom(row('api_key', null))).toEqual(INSTANCE);
});

test('a change names its row, whether it was added, changed or removed', () => {
  const row = { id: 'r' };
  expect(changeOf('key.created', undefined, row)).toMatchObject({
    resourceId: 'r',
    before: null,
    after: row,
  });
  expect(changeOf('key.revoked', row, null)).toMatchObject({ resourceId: 'r', before: row, after: null });
});
