import { useQuery } from '@tanstack/react-query';
import type { Endpoint } from 'posthorn-client';
import type { ReactNode } from 'react';
import { Button } from '../../ui/controls/button.tsx';
import { useMayManage } from '../link.ts';
import { adviceText, outcomeText } from '../reason.ts';
import { api } from '../session.ts';
import { useAct } from '../use-act.ts';
import { useWords } from '../words.ts';
import { configurationQuery, failuresQuery } from './queries.ts';

/** An endpoint in trouble explains itself: what came back, what to change, and a button to send again. */
export function Trouble({ endpoint }: { endpoint: Endpoint }) {
  if (endpoint.status === 'inactive') return <Disabled endpoint={endpoint} />;
  return <Failing endpoint={endpoint} />;
}

/** What can be sent again to the endpoint. */
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
  const mayManage = useMayManage();
  const { count, send } = useLost(endpoint, ['Failure', 'Discarded']);
  const activate = useAct(
    async () => {
      await api.endpoints.activate(endpoint.uid);
      if (count > 0) await send();
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
  const group = failures.data?.groups.find(({ endpoint_id }) => endpoint_id === endpoint.uid);
  if (group === undefined) return null;
  const willStop = configuration.data?.['disable_endpoint'] === true;
  const text = [
    t.failingText(group.count),
    `${outcomeText(words, group.outcome)}.`,
    adviceText(words, group.outcome),
    willStop ? t.willStop : '',
  ];
  return (
    <Banner title={t.failing} text={text.filter((part) => part !== '').join(' ')}>
      {count > 0 && (
        <Button icon="again" onClick={() => retry.mutate()} busy={retry.isPending && deliveries.asking}>
          {t.retryThose(count)}
        </Button>
      )}
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
