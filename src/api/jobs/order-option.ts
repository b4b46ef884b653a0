import { badQuery } from '../../domain/errors.ts';
import { queryValue } from '../../domain/pagination.ts';
import { oneOf, Type } from '../../platform/type.ts';
import type { Call } from '../http/call.ts';

/** An option of calls that send again. */
export const orderOption = {
  order: Type.Optional(
    oneOf(['ignore'], 'Send without regard to [order by key](ordering.md). A held key stays held.'),
  ),
};

export function ignoresOrder(query: Call<unknown>['query']): boolean {
  const given = queryValue(query, 'order');
  if (given !== undefined && given !== 'ignore') throw badQuery('order', 'must be ignore, or absent');
  return given === 'ignore';
}
