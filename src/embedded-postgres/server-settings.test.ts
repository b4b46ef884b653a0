import { expect, test } from 'vitest';
import { serverSettings } from './server-settings.ts';

test('the buffers of the embedded server follow from the memory', () => {
  const buffers = [128, 512, 1_024, 2_048, 65_536].map(
    (mb) => serverSettings(mb * 1024 ** 2)['shared_buffers'],
  );
  expect(buffers).toEqual(['32MB', '64MB', '128MB', '256MB', '256MB']);
});
