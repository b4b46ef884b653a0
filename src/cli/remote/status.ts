import type { EndpointHealth, ListFailuresResult, Posthorn } from '../../../client/src/posthorn.ts';
import type { Run } from '../terminal/command.ts';
import { type Column, counted, isTable, line, note, printList, printOne } from '../terminal/output.ts';
import { withService } from './connect.ts';
import { isTroubled, stateColumns } from './endpoint-state.ts';
import { period } from './history.ts';

type Group = ListFailuresResult['groups'][number];

const NOT_ALL = 'posthorn: not all failing deliveries were read; narrow it with --since or --endpoint';

const failureColumns: readonly Column<Group>[] = [
  ['UID', ({ endpoint_id }) => endpoint_id],
  ['ENDPOINT', ({ endpoint_name }) => endpoint_name],
  ['OWNER', ({ owner_id }) => owner_id],
  ['OUTCOME', ({ outcome, muted }) => (muted === null ? outcome : `${outcome} (muted)`)],
  ['FAILED', ({ failed }) => failed],
  ['RETRYING', ({ retrying, at_least }) => (at_least ? `${retrying}+` : String(retrying))],
  ['SINCE', ({ first_at }) => first_at],
  ['LAST', ({ last_at }) => last_at],
  ['REASON', ({ description }) => description],
];

/** The failing deliveries by endpoint and cause. */
export const failures: Run = (given) =>
  withService(given, async (posthorn) => {
    const { groups, complete } = await posthorn.eventDeliveries.listFailures({
      ...period(given),
      ...given.lists({ endpointId: 'endpoint' }),
      ...given.fields({ ownerId: 'owner', eventType: 'event-type' }),
    });
    await printList(given, groups, failureColumns);
    if (!complete) note(NOT_ALL);
  });

const troubleColumns: readonly Column<EndpointHealth>[] = [
  ['UID', ({ endpoint_id }) => endpoint_id],
  ['ENDPOINT', ({ name }) => name],
  ['OWNER', ({ owner_id }) => owner_id],
  ...stateColumns,
  ['FAILED', ({ failed_share }) => (failed_share === null ? '' : `${failed_share} %`)],
  ['OPEN', ({ open }) => open],
  ['LAST', ({ last_failure }) => last_failure?.outcome ?? ''],
  ['REASON', ({ last_failure }) => last_failure?.description ?? ''],
];

/** The present problems on one screen. */
export const status: Run = (given) =>
  withService(given, async (posthorn) => {
    const read = await readStatus(posthorn);
    if (given.has('quiet')) return printList(given, read.endpoints, troubleColumns);
    if (!isTable(given)) return printOne(given, read);
    for (const sentence of sentences(read)) line(sentence);
    if (read.endpoints.length > 0) await printList(given, read.endpoints, troubleColumns);
    if (read.endpoints.length === SHOWN) note(`posthorn: only the worst ${SHOWN} endpoints are listed`);
  });

type Status = Awaited<ReturnType<typeof readStatus>>;

const HOURS = 24;
const HOUR_MS = 3_600_000;
const SHOWN = 100;

async function readStatus(posthorn: Posthorn) {
  const startDate = new Date(Date.now() - HOURS * HOUR_MS).toISOString();
  const [health, { complete, ...waiting }, { totals }] = await Promise.all([
    posthorn.dashboard.getHealth({ startDate, limit: SHOWN }),
    posthorn.eventDeliveries.getWaitingTotals(),
    posthorn.dashboard.getTimeSeries({ startDate }),
  ]);
  const { latency: _, ...counts } = totals;
  return {
    by_state: health.by_state,
    endpoints: health.endpoints.filter(isTroubled),
    waiting,
    complete,
    last_24_hours: counts,
  };
}

function sentences({ by_state, waiting, complete, last_24_hours: past }: Status): string[] {
  const listed = (counts: object) =>
    Object.entries(counts as Record<string, number>)
      .filter(([, count]) => count > 0)
      .map(([name, count]) => `${name} ${count}`)
      .join(', ');
  const sum = (counts: object) =>
    Object.values(counts as Record<string, number>).reduce((all, count) => all + count, 0);
  const [endpoints, total] = [sum(by_state), sum(waiting)];
  return [
    `${counted(endpoints, 'endpoint')}${endpoints === 0 ? '' : `: ${listed(by_state)}`}.`,
    `${complete ? '' : 'At least '}${counted(total, 'delivery waits', 'deliveries wait')}${total === 0 ? '' : `: ${listed(waiting)}`}.`,
    `Last ${HOURS} hours: ${past.delivered} delivered, ${past.failed} failed, ${past.failed_attempts} of ${counted(past.attempts, 'attempt')} failed.`,
  ];
}
