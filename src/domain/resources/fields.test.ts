import { expect, test } from 'vitest';
import { USUAL_BATCH } from '../config/batch.ts';
import { usualValues, withUsualParts } from './fields.ts';
import { subscriptionFields } from './subscription-fields.ts';

test('a group that was stored before one of its parts existed has its usual value', () => {
  const stored = {
    ...usualValues(subscriptionFields),
    ordering: { key: 'endpoint' } as never,
    batch: { ...USUAL_BATCH, max: 7 },
  };
  expect(withUsualParts(subscriptionFields, stored)).toEqual({
    ...stored,
    ordering: { key: 'endpoint', on_failure: 'hold' },
  });
});
