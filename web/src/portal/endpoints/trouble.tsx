import { useQuery } from '@tanstack/react-query';
import type { Endpoint } from 'posthorn-client';
import type { ReactNode } from 'react';
import { useAct } from '../../parts/use-act.ts';
import { useWords } from '../../parts/words.ts';
import { Button } from '../../ui/controls/button.tsx';
import { useRights } from '../link.ts';
import { adviceText, outcomeText } from '../reason.ts';
import { RetryProgress } from '../retry-progress.tsx';
import { api } from '../session.ts';
import { failureOf, isFailing } from './failure.ts';
import { configurationQuery, dayQuery, failuresQuery } from './queries.ts';

/** An endpoint in trouble explains itself: what came back, what to change, and a button to send again. */
export function Trouble({ endpoint }: { endpoint: Endpoint }) {
  if (endpoint.status === 'inactive') return <Disabled endpoint={endpoint} />;
  return <Failing endpoint={endpoint} />;
}

/** The deliveries that can be sent again to the endpoint: their number, and the call that sends them. */
function useLost(endpoint: Endpoint, status: ('Failure' | 'Discarded')[]) {
  const query = { endpointId: [endpoint.uid], status };
  const count = useQuery({
    queryKey: ['lost', query],
    queryFn: () => api.eventDeliveries.countBatchRetry(query),
    refetchInterval: 10_000,
  });
  return { count: count.data?.num ?? 0, send: () => api.eventDeliveries.batchRetry(query) };
}

function Disabled({ endpoint }: { endpoint: Endpoint }) {
  const { endpoints: t, deliveries } = useWords();
  const { manage: mayManage, retry: mayRetry } = useRights();
  const lost = useLost(endpoint, ['Failure', 'Discarded']);
  const count = mayRetry ? lost.count : 0;
  const activate = useAct(
    async () => {
      await api.endpoints.activate(endpoint.uid);
      if (count > 0) await lost.send();
    },
    () => t.activated(count),
  );
  return (
    <Banner title={t.disabled} text={t.disabledText}>
      {mayManage && (
        <Button look="main" onClick={() => activate.mutate()} busy={activate.isPending && deliveries.asking}>
          {count === 0 ? t.activate : t.activateAndSend(count)}
        </Button>
      )}
    </Banner>
  );
}

function Failing({ endpoint }: { endpoint: Endpoint }) {
  const words = useWords();
  const { endpoints: t, deliveries } = words;
  const failures = useQuery(failuresQuery);
  const configuration = useQuery(configurationQuery);
  const { count, send } = useLost(endpoint, ['Failure']);
  const retry = useAct(send, () => deliveries.retryingAll(count));
  const day = useQuery(dayQuery([endpoint]));
  const { retry: mayRetry } = useRights();
  const failure = failureOf(failures.data, endpoint.uid);
  if (failure === undefined) return null;
  const fails = isFailing(endpoint, day.data?.get(endpoint.uid));
  const willStop = fails && configuration.data?.['disable_endpoint'] === true;
  const text = [
    t.failingText(failure.count),
    `${outcomeText(words, failure.outcome)}.`,
    adviceText(words, failure.outcome),
    willStop ? t.willStop : '',
  ];
  return (
    <Banner title={fails ? t.failing : t.someFailed} text={text.filter((part) => part !== '').join(' ')}>
      {mayRetry && count > 0 && (
        <Button icon="again" onClick={() => retry.mutate()} busy={retry.isPending && deliveries.asking}>
          {t.retryThose(count)}
        </Button>
      )}
      <RetryProgress job={retry.data} />
    </Banner>
  );
}

const Banner = ({ title, text, children }: { title: string; text: string; children: ReactNode }) => (
  <section className="mt-4 grid gap-2 rounded-md border border-bad bg-bad-ground p-4">
    <h3 className="text-base text-bad">{title}</h3>
    <p className="max-w-[75ch]">{text}</p>
    <div>{children}</div>
  </section>
);
