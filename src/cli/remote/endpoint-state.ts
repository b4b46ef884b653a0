import type { Endpoint, EndpointHealth } from '../../../client/src/posthorn.ts';
import { type Column, shownTime } from '../terminal/output.ts';

type Stated = Pick<
  Endpoint,
  'state' | 'failing_since' | 'recovered_at' | 'sent_since' | 'held_by' | 'held_until'
>;

/** The state of an endpoint, since when, and what holds its deliveries or was sent since. */
export const stateColumns: readonly Column<Stated>[] = [
  ['STATE', ({ state }) => state],
  ['SINCE', ({ failing_since, recovered_at }) => failing_since ?? recovered_at],
  ['DETAIL', detailOf],
];

function detailOf({ state, sent_since, held_by, held_until }: Stated): string {
  if (state === 'recovered') return `${sent_since} sent since`;
  return held_until === null ? held_by : `${held_by}, probe ${shownTime(held_until)}`;
}

/** Whether its state asks for an act. A pause does once deliveries wait. */
export const isTroubled = ({ state, open }: EndpointHealth): boolean =>
  state === 'held' ? open > 0 : state !== 'ok' && state !== 'recovered';
