import type { PreviewSubscriptionResult } from 'posthorn-client';
import { plural } from '../../data/delivery-state.ts';
import { PageLink } from '../../parts/page-link.tsx';
import { DiffView } from '../../ui/code/diff-view.tsx';
import { StateBadge } from '../../ui/text/state-badge.tsx';
import { Time } from '../../ui/text/time.tsx';

const YES = { tone: 'ok', shape: 'check', word: 'Matches' } as const;
const NO = { tone: 'off', shape: 'ring', word: 'No match' } as const;

/** The effect of a change on real events. Nothing is saved or sent. */
export function Preview({ result }: { result: PreviewSubscriptionResult }) {
  if (result.events.length === 0)
    return <p className="mt-2 text-muted">There are no events of these types yet.</p>;
  return (
    <div className="mt-3" role="status">
      <p className="mb-2 font-semibold">
        {result.matched} of the last {plural(result.events.length, 'event')} would match.
        {result.cut !== null && ' The preview was cut short: the events are large.'}
      </p>
      <ul className="max-h-96 overflow-auto border-t border-line">
        {result.events.map((event) => (
          <li
            key={event.event_id}
            className="grid gap-x-4 border-b border-line py-1 sm:grid-cols-[7rem_minmax(0,1fr)_6rem]"
          >
            <StateBadge look={event.matched ? YES : NO} />
            <div className="min-w-0">
              <PageLink to={`events/${event.event_id}`}>{event.event_type}</PageLink>{' '}
              {!event.matched && <span className="text-muted">{event.reason}</span>}
              {event.function_error !== null && <p className="text-bad">{event.function_error}</p>}
              {event.cancelled !== null && <p className="text-muted">{event.cancelled}</p>}
              {event.before !== null && event.after !== null && (
                <details>
                  <summary className="text-muted">What the function changes</summary>
                  <DiffView
                    before={{ payload: event.before }}
                    after={{ payload: event.after, ...event.request }}
                  />
                </details>
              )}
            </div>
            <span className="text-xs text-muted">
              <Time at={event.acknowledged_at} />
            </span>
          </li>
        ))}
      </ul>
    </div>
  );
}
