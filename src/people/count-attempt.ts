import { isIPv6 } from 'node:net';
import { AppError } from '../domain/errors.ts';
import type { Sealer } from '../platform/sealer.ts';
import { beginAttempt, type FailureKeys } from '../store/people/sign-in-failures.ts';
import type { PeopleDeps, Visitor } from './people-deps.ts';

/** Counts a failed attempt in advance. Throws if an account or address has to wait. */
export async function countAttempt(
  deps: PeopleDeps,
  account: string,
  visitor: Visitor,
): Promise<FailureKeys> {
  const keys = failureKeys(deps.sealer, account, visitor.address);
  const wait = await deps.db.transaction((tx) => beginAttempt(tx, keys));
  if (wait !== null) throw new AppError('sign_in_throttled', { retry: wait });
  return keys;
}

function failureKeys(sealer: Sealer, account: string, address: string): FailureKeys {
  const network = networkOf(address);
  return {
    pair: sealer.lookupHash(`sign-in ${network} ${account}`),
    account: sealer.lookupHash(`sign-in of ${account}`),
    address: sealer.lookupHash(`sign-in from ${network}`),
  };
}

/** Takes the first 64 bits of an IPv6 address, because one subscriber has all addresses below them. */
function networkOf(address: string): string {
  if (!isIPv6(address) || address.includes('.')) return address;
  const [head = '', tail] = address.split('::');
  const groups = head === '' ? [] : head.split(':');
  const rest = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? 0 : 8 - groups.length - rest.length;
  return [...groups, ...Array<string>(zeros).fill('0'), ...rest]
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':');
}
