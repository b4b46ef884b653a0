import { expect, it } from 'vitest';
import { faultOf, isConnectionError, isUndone, markFault } from './pg-errors.ts';

const failed = (code: string) => Object.assign(new Error('failed'), { code });

it('takes a server that stops, starts or became read only for a lost connection', () => {
  // Shutdown by the operator, crash shutdown, still starting, no writes, unable to connect.
  for (const code of ['57P01', '57P02', '57P03', '25006', '08001'])
    expect([code, isConnectionError(failed(code))]).toEqual([code, true]);
  expect(isConnectionError(failed('23505'))).toBe(false);
  // A write that was refused did not happen. One that a shutdown cut off may have.
  expect([isUndone(failed('25006')), isUndone(failed('57P01'))]).toEqual([true, false]);
});

it.each([
  ['08006', 'unreachable'],
  ['57P03', 'unreachable'],
  ['ECONNREFUSED', 'unreachable'],
  ['53100', 'full'],
  ['25006', 'read_only'],
  ['28P01', 'refused'],
  ['28000', 'refused'],
  ['3D000', 'refused'],
  ['42501', 'refused'],
  ['55000', 'refused'],
  ['53300', 'busy'],
  ['40P01', 'busy'],
  ['57014', 'busy'],
  ['55P03', 'busy'],
  ['42601', null],
  ['23505', null],
])('says that %s is %s', (code, fault) => {
  expect(faultOf(failed(code))).toBe(fault);
});

it('knows a fault without a code by its text, by a mark, or by one of several failures', () => {
  expect(faultOf(new Error('Connection terminated unexpectedly'))).toBe('unreachable');
  expect(faultOf(new Error('timeout exceeded when trying to connect'))).toBe('busy');
  expect(faultOf(new AggregateError([failed('42601'), failed('ECONNREFUSED')]))).toBe('unreachable');
  const unmarked = new Error('unable to verify the first certificate');
  expect(faultOf(unmarked)).toBe(null);
  markFault(unmarked, 'refused');
  expect(faultOf(unmarked)).toBe('refused');
  // A refused sign-in had no effect, nor had a statement without the right.
  expect([isUndone(failed('42501')), isUndone(failed('55000'))]).toEqual([true, true]);
});
