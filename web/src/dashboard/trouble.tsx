import type { EndpointHealth } from 'posthorn-client';
import type { ReactNode } from 'react';
import { plural } from '../data/delivery-state.ts';
import { useProject } from '../data/project.ts';
import { EndpointBadge } from '../parts/badges.tsx';
import { PauseButton } from '../parts/endpoint-acts.tsx';
import { PageLink } from '../parts/page-link.tsx';
import { Link, withSearch } from '../ui/text/link.tsx';
import { percent } from '../ui/text/numbers.ts';
import { span, Time, useNow } from '../ui/text/time.tsx';
import { May } from './may.tsx';
import { SendNow } from './send-now.tsx';

interface Props {
  health: EndpointHealth;
  /** The page has no other button for it. */
  mayPause?: boolean;
  /** The time of the counts, where the page has no other words for it. */
  time?: string;
  children?: ReactNode;
}

/** Since when an endpoint fails, the last answer, the open deliveries, and the acts that mend it. */
export function Trouble({ health, mayPause = false, time, children }: Props) {
  const isBad = health.state === 'failing' || health.state === 'disabled';
  return (
    <div
      className={`grid gap-1 border-l-4 px-3 py-2 ${isBad ? 'border-bad bg-bad-ground' : 'border-line-strong bg-panel'}`}
    >
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <EndpointBadge of={health} />
        {children}
        <span className="grow" />
        <SendNow of={[{ endpointId: [health.endpoint_id] }]} count={sendable(health)} />
        {mayPause && (
          <May use="pauseEndpoint">
            <PauseButton endpoint={{ uid: health.endpoint_id, status: health.status }} />
          </May>
        )}
      </div>
      <Cause health={health} />
      <Counts health={health} time={time} />
    </div>
  );
}

function Cause({ health }: { health: EndpointHealth }) {
  const now = useNow();
  const { last_failure: failure, failing_since: since, last_success_at: success, held_until: until } = health;
  if (failure === null && since === null && until === null) return null;
  return (
    <p className="max-w-[75ch] break-words">
      {failure !== null && (
        <PageLink to={`deliveries/${failure.event_delivery_id}`}>
          {failure.description === '' ? failure.outcome : failure.description}
        </PageLink>
      )}
      {since !== null && (
        <span className="text-muted">
          {failure !== null && ' · '}
          {health.state === 'degraded' ? 'some attempts failed in the last' : 'every attempt failed for'}{' '}
          {atLeastMinute(now - Date.parse(since))}
          {success === null ? (
            ', no recent success'
          ) : (
            <>
              , last success <Time at={success} />
            </>
          )}
        </span>
      )}
      {until !== null && (
        <span className="text-muted">
          {(failure !== null || since !== null) && ' · '}the circuit breaker sends a probe <Time at={until} />
        </span>
      )}
    </p>
  );
}

/** The counts are of whole minutes. */
const atLeastMinute = (ms: number): string =>
  ms < 60_000 ? 'less than a minute' : span(Math.floor(ms / 60_000) * 60);

/** Each number leads to its rows. */
function Counts({ health, time }: { health: EndpointHealth; time: string | undefined }) {
  const { at } = useProject();
  const { waiting_for: waiting, endpoint_id: endpoint } = health;
  const rows = (held: string) => withSearch(at('deliveries'), { endpoint, held });
  const gates: [count: number | undefined, word: string, gate: string][] = [
    [waiting.retry, 'waiting to retry', 'retry'],
    [waiting.circuit_breaker, 'held by the circuit breaker', 'circuit_breaker'],
    [waiting.pending, 'held until it is verified', 'pending'],
    [waiting.paused, 'held by the pause', 'paused'],
    [waiting.rate_limit, 'throttled', 'rate_limit'],
    [waiting.order, 'waiting for their turn', 'order'],
    [waiting.moving, 'held while the project moves', 'moving'],
  ];
  const parts = gates.flatMap(([count, word, gate]) =>
    count === undefined || count === 0
      ? []
      : [
          <Link key={gate} className="link" href={rows(gate)}>
            {count.toLocaleString('en')} {word}
          </Link>,
        ],
  );
  return (
    <p className="flex flex-wrap gap-x-3 text-muted">
      {parts}
      {health.attempts > 0 && (
        <span>
          {percent(health.failed_share)} of {plural(health.attempts, 'attempt')} failed
          {time !== undefined && ` in the ${time}`}
        </span>
      )}
      {health.failed > 0 && (
        <PageLink to="deliveries" filters={{ endpoint, state: 'Failure' }}>
          {health.failed.toLocaleString('en')} failed
        </PageLink>
      )}
      {health.discarded > 0 && (
        <PageLink to="deliveries" filters={{ endpoint, state: 'Discarded' }}>
          {health.discarded.toLocaleString('en')} discarded
        </PageLink>
      )}
    </p>
  );
}

const sendable = ({ may_send_now: may, waiting_for: waiting }: EndpointHealth): number =>
  may ? (waiting.retry ?? 0) + (waiting.circuit_breaker ?? 0) : 0;
