import { expect, test } from 'vitest';
import { actorFrom, changeOf, INSTANCE } from './audit.ts';

test('an actor is read back from its columns; without a name it is the service', () => {
  expect(actorFrom('portal_link', 'l')).toEqual({ type: 'portal_link', id: 'l' });
  expect(actorFrom('instance', null)).toEqual(INSTANCE);
  expect(actorFrom('api_key', null)).toEqual(INSTANCE);
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
