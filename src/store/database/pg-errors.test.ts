import { expect, it } from 'vitest';
import { isConnectionError, isUndone } from './pg-errors.ts';

const failed = (code: string) => Object.assign(new Error('failed'), { code });

it('takes a server that stops, starts or became read only for a lost connection', () => {
  // Shutdown by the operator, crash shutdown, still starting, no writes, unable to connect.
  for (const code of ['57P01', '57P02', '57P03', '25006', '08001'])
    expect([code, isConnectionError(failed(code))]).toEqual([code, true]);
  expect(isConnectionError(failed('23505'))).toBe(false);
  // A write that was refused did not happen. One that a shutdown cut off may have.
  expect([isUndone(failed('25006')), isUndone(failed('57P01'))]).toEqual([true, false]);
});
