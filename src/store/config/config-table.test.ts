import { expect, test } from 'vitest';
import { asId, type EndpointId, type ProjectId, type SubscriptionId } from '../../domain/ids.ts';
import { subscriptions } from './subscriptions.ts';

test('a read takes the ids of its own resource only', async () => {
  const asked: unknown[] = [];
  const db = {
    query: async (_text: string, values: unknown[] = []) => {
      asked.push(values);
      return [];
    },
  };
  const projectId = asId<ProjectId>('p');
  const id = asId<SubscriptionId>('s');
  await subscriptions.get(db, projectId, id);
  // @ts-expect-error the two are swapped
  await subscriptions.get(db, id, projectId);
  // @ts-expect-error an endpoint is no subscription
  await subscriptions.getForUpdate(db, projectId, asId<EndpointId>('e'));
  // @ts-expect-error a text is no id until an edge says so
  await subscriptions.oldestOf(db, 'p', asId<EndpointId>('e'));
  expect(asked).toEqual([
    ['p', 's'],
    ['s', 'p'],
    ['p', 'e'],
    ['p', 'e'],
  ]);
});
