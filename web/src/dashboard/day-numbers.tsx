import { useContext } from 'react';
import { useProject } from '../data/project.ts';
import { Numbers } from '../parts/numbers.tsx';
import { Section } from '../ui/page/section.tsx';
import { Link, useGo, withSearch } from '../ui/text/link.tsx';
import { count } from '../ui/text/numbers.ts';
import { TimeStyleContext } from '../ui/text/time.tsx';
import { endpointMarks } from './breaker-marks.tsx';
import { inTime, rangeOf } from './lists/time-filter.tsx';

const TIME = '24h';

interface Props {
  of: { endpointId: string[] } | { sourceId: string[] };
  /** The noun of `accepted`: events, or deliveries made for an endpoint. */
  accepted: string;
  /** The list with the rows behind the numbers, and the filter that leaves only these. */
  list: 'events' | 'deliveries';
  filter: Record<string, string>;
}

/** How the last day of an endpoint or source was. Marking a part of the chart leads to its rows. */
export function DayNumbers({ of, accepted, list, filter }: Props) {
  const { at } = useProject();
  const go = useGo();
  const range = rangeOf(TIME, useContext(TimeStyleContext).utc);
  const rows = (time: string) => withSearch(at(list), { ...filter, time });
  return (
    <Section
      title="Last 24 h"
      aside={
        <Link className="link" href={rows(TIME)}>
          Show the {list}
        </Link>
      }
    >
      <Numbers
        name={['day', of]}
        ask={() => ({ ...range, step: 'hour', ...of })}
        everySeconds={10}
        none={`No attempts ${inTime(TIME)}.`}
        marks={({ breaker_openings: openings }) => endpointMarks(openings)}
        figures={(own, { totals }) => [
          { name: 'Accepted, about', value: count(totals.accepted), note: accepted },
          ...Object.values(own),
        ]}
        onZoom={(time) => go(rows(time))}
      />
    </Section>
  );
}
