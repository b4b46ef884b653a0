import { useQuery } from '@tanstack/react-query';
import type { TimeSeriesPoint } from 'posthorn-client';
import { type ReactNode, useState } from 'react';
import { dayName } from '../parts/delivery-chart.tsx';
import { Numbers as Shown } from '../parts/numbers.tsx';
import { useWords } from '../parts/words.ts';
import { formatMs } from '../ui/charts/timing-bar.tsx';
import { SelectField } from '../ui/controls/fields.tsx';
import { Section } from '../ui/page/section.tsx';
import { PlainTable } from '../ui/tables/plain-table.tsx';
import { endpointsQuery } from './endpoints/queries.ts';
import { useLink } from './link.ts';

const DAYS = 14;
const DAY_MS = 86_400_000;

/** Delivered and failed by endpoint and day, and the latency. */
export function Numbers() {
  const { numbers: t, ui } = useWords();
  const link = useLink();
  const [endpoint, setEndpoint] = useState('');
  const endpoints = useQuery(endpointsQuery);
  // The counters do not tell event types apart, so a link for some types gets none.
  if (link.event_types.length > 0) return <p className="text-muted">{t.none}</p>;
  const count = (value: number) => value.toLocaleString(ui.locale);
  const ms = (value: number | undefined) => (value === undefined ? '–' : formatMs(value));
  return (
    <>
      <div className="max-w-96">
        <SelectField
          label={t.endpoint}
          value={endpoint}
          onChange={(event) => setEndpoint(event.target.value)}
          choices={[['', t.all], ...(endpoints.data ?? []).map(({ uid, name }) => [uid, name] as const)]}
        />
      </div>
      <Section title={t.days(DAYS)}>
        <Shown
          name={[endpoint]}
          ask={() => ({
            startDate: new Date(Date.now() - (DAYS - 1) * DAY_MS).toISOString(),
            step: 'day',
            ...(endpoint === '' ? {} : { endpointId: [endpoint] }),
          })}
          everySeconds={30}
        >
          {({ points }) => (
            <Days all={points}>
              <PlainTable
                label={t.per.day}
                rows={points.toReversed().filter(isBusy)}
                columns={[
                  { name: t.day, cell: ({ start }) => dayName(start, ui.locale) },
                  { name: t.delivered, cell: ({ delivered }) => count(delivered) },
                  { name: t.failed, cell: ({ failed }) => count(failed) },
                  { name: t.typical, cell: ({ latency }) => ms(latency?.p50) },
                  { name: t.slow, cell: ({ latency }) => ms(latency?.p99) },
                ]}
                rowKey={({ start }) => start}
                isTight
              />
            </Days>
          )}
        </Shown>
      </Section>
    </>
  );
}

const isBusy = ({ attempts, delivered, failed }: TimeSeriesPoint): boolean =>
  attempts + delivered + failed > 0;

/** A table of the days on which something was sent, and one line for the others. */
function Days({ all, children }: { all: readonly TimeSeriesPoint[]; children: ReactNode }) {
  const { numbers: t } = useWords();
  const quiet = all.filter((day) => !isBusy(day)).length;
  // The chart says that there is nothing at all.
  if (quiet === all.length) return null;
  return (
    <div className="mt-4 grid gap-2">
      {children}
      {quiet > 0 && <p className="text-muted">{t.quietDays(quiet)}</p>}
    </div>
  );
}
