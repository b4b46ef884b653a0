import type { Endpoint } from 'posthorn-client';
import { EndpointBadge } from '../../parts/badges.tsx';
import { useWords } from '../../parts/words.ts';
import { Time } from '../../ui/text/time.tsx';
import { at } from '../address.ts';
import { outcomeText } from '../reason.ts';
import { type DayCounts, type EndpointFailure, isFailing } from './failure.ts';

export interface EndpointLine {
  endpoint: Pick<Endpoint, 'uid' | 'name' | 'url' | 'status' | 'cb_state'>;
  counts: DayCounts | undefined;
  failure: Pick<EndpointFailure, 'outcome' | 'lastAt'> | undefined;
}

/** Endpoints with their health, one line each. */
export function EndpointLines({ endpoints }: { endpoints: readonly EndpointLine[] }) {
  const words = useWords();
  const { endpoints: t, pages, states, ui } = words;
  return (
    <ul className="-mx-1 border-t border-line" aria-label={pages.endpoints}>
      {endpoints.map(({ endpoint, counts, failure }) => (
        <li
          key={endpoint.uid}
          className="relative grid items-center gap-x-4 gap-y-1 border-b border-line px-1 py-2.5 hover:bg-hover sm:grid-cols-[minmax(0,1fr)_8rem_minmax(0,15rem)]"
        >
          <span className="min-w-0">
            <a
              href={at(`endpoints/${endpoint.uid}`)}
              className="block truncate text-base font-semibold after:absolute after:inset-0"
            >
              {endpoint.name}
            </a>
            <span className="block truncate text-muted">{endpoint.url}</span>
          </span>
          <EndpointBadge endpoint={endpoint} isFailing={isFailing(endpoint, counts)} />
          <span className="min-w-0">
            {counts !== undefined && (
              <span className="block truncate" title={t.day}>
                {counts.success_count + counts.failure_count + counts.retry_count === 0
                  ? t.quiet
                  : t.dayCounts(counts.success_count, counts.failure_count)}
              </span>
            )}
            {counts !== undefined && counts.retry_count > 0 && (
              <span className="block truncate">
                {states.retrying}: {counts.retry_count.toLocaleString(ui.locale)}
              </span>
            )}
            {failure !== undefined && (
              <span className="block text-bad">
                {outcomeText(words, failure.outcome)}, <Time at={failure.lastAt} />
              </span>
            )}
          </span>
        </li>
      ))}
    </ul>
  );
}
