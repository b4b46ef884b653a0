import { useQuery } from '@tanstack/react-query';
import type { CountBatchRetryEventDeliveriesQuery, Endpoint } from 'posthorn-client';
import { hasExpired } from '../../data/endpoint-status.ts';
import { ActButton, useAct } from '../../parts/acts.tsx';
import { PauseButton } from '../../parts/endpoint-acts.tsx';
import { useWords } from '../../parts/words.ts';
import { Button } from '../../ui/controls/button.tsx';
import { useRights } from '../link.ts';
import { RetryProgress } from '../retry-progress.tsx';
import { api } from '../session.ts';
import { type Health, type Healths, SENDABLE, sendableOf } from './health.ts';

interface Props {
  endpoint: Endpoint;
  health: Health;
  all: Healths;
  /** The page of the endpoint has a button for its pause already. */
  isListed: boolean;
}

/** In some languages a button is wider than a phone. */
const WRAPPED =
  '[&_button]:h-auto [&_button]:min-h-8 [&_button]:py-1 [&_button]:text-left [&_button]:whitespace-normal';

/** The acts that mend an endpoint. One that the link does not allow is not there. */
export function TroubleActs({ endpoint, health, all, isListed }: Props) {
  const { manage: mayManage, retry: mayRetry } = useRights();
  if (health.state === 'disabled')
    return mayManage && !hasExpired(endpoint) ? <Activate endpoint={endpoint} /> : null;
  if (health.state === 'held')
    return isListed && mayManage ? (
      <div className={WRAPPED}>
        <PauseButton endpoint={endpoint} />
      </div>
    ) : null;
  if (!mayRetry) return null;
  return (
    <div className={`grid gap-2 empty:hidden sm:max-w-72 sm:justify-items-end sm:text-right ${WRAPPED}`}>
      {endpoint.delivery !== 'pull' && <SendNow {...{ endpoint, health, all }} />}
      {health.failed > 0 && <RetryFailed {...{ endpoint, health, all }} />}
    </div>
  );
}

/** The deliveries that can be sent again: their number, and the call that sends them. */
function useLost(query: CountBatchRetryEventDeliveriesQuery) {
  const count = useQuery({
    queryKey: ['lost', query],
    queryFn: () => api.eventDeliveries.countBatchRetry(query),
    refetchInterval: 3000,
  });
  const send = () => api.eventDeliveries.batchRetry(query);
  return { count: count.data?.num ?? 0, isKnown: count.data !== undefined, send };
}

function Activate({ endpoint }: Pick<Props, 'endpoint'>) {
  const { endpoints: t } = useWords();
  const { retry: mayRetry } = useRights();
  const lost = useLost({ endpointId: [endpoint.uid], status: ['Failure', 'Discarded'] });
  const count = mayRetry ? lost.count : 0;
  return (
    <div className={WRAPPED}>
      <ActButton
        look="main"
        act={async () => {
          await api.endpoints.activate(endpoint.uid);
          if (count > 0) await lost.send();
        }}
        done={() => t.activated(count)}
      >
        {count === 0 ? t.activate : t.activateAndSend(count)}
      </ActButton>
    </div>
  );
}

/** Sends what waits. Behind an open circuit breaker one goes first. */
function SendNow({ endpoint, health, all }: Omit<Props, 'isListed'>) {
  const { endpoints: t, deliveries } = useWords();
  const count = sendableOf(health);
  const isBroken = (health.waiting_for.circuit_breaker ?? 0) > 0;
  const send = useAct(
    () => api.eventDeliveries.sendNow({ endpointId: [endpoint.uid], waitingFor: [...SENDABLE] }),
    () => deliveries.sendNowAsked,
  );
  if (count === 0 && send.data === undefined) return null;
  return (
    <div>
      {count > 0 && (
        <Button
          look="main"
          icon="arrow"
          onClick={() => send.mutate()}
          busy={send.isPending && deliveries.asking}
        >
          {all.isComplete ? t.sendNow(count) : t.sendAllNow}
        </Button>
      )}
      {isBroken && <p className="my-1 text-muted">{t.probeFirst}</p>}
      <RetryProgress job={send.data} />
    </div>
  );
}

/** Sends those again that failed in the last 24 hours and have not been sent again since. */
function RetryFailed({ endpoint, health, all }: Omit<Props, 'isListed'>) {
  const { endpoints: t, deliveries } = useWords();
  const lost = useLost({ endpointId: [endpoint.uid], status: ['Failure'], endedSince: all.start });
  const retry = useAct(lost.send, () => deliveries.retryingAll(lost.count));
  const again = health.failed - lost.count;
  return (
    <div>
      {lost.count > 0 && (
        <Button icon="again" onClick={() => retry.mutate()} busy={retry.isPending && deliveries.asking}>
          {deliveries.retryAll(lost.count)}
        </Button>
      )}
      {retry.data === undefined && lost.isKnown && again > 0 && (
        <p className="my-1 text-muted">{t.sentAgain(again)}</p>
      )}
      <RetryProgress job={retry.data} />
    </div>
  );
}
