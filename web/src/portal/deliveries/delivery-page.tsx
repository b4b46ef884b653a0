import { useQuery } from '@tanstack/react-query';
import type { WholeEventDelivery } from 'posthorn-client';
import { deliveryState } from '../../data/delivery-state.ts';
import { JsonView } from '../../ui/code/json-view.tsx';
import { Button } from '../../ui/controls/button.tsx';
import { Section } from '../../ui/page/section.tsx';
import { Facts } from '../../ui/tables/facts.tsx';
import { Id } from '../../ui/text/id.tsx';
import { Time, useNow } from '../../ui/text/time.tsx';
import { placeOf } from '../address.ts';
import { Back } from '../back.tsx';
import { DeliveryBadge } from '../badges.tsx';
import { useRights } from '../link.ts';
import { QueryView } from '../query-view.tsx';
import { tellDelivery } from '../reason.ts';
import { api } from '../session.ts';
import { useAct } from '../use-act.ts';
import { useWords } from '../words.ts';
import { AttemptView } from './attempt-view.tsx';

const ENDED = new Set(['Success', 'Failure', 'Discarded']);

export function DeliveryPage({ id }: { id: string }) {
  const { pages } = useWords();
  const delivery = useQuery({
    queryKey: ['delivery', id],
    queryFn: () => api.eventDeliveries.get(id),
    refetchInterval: ({ state }) =>
      state.data !== undefined && !ENDED.has(state.data.status) ? 1000 : 10_000,
  });
  return (
    <>
      <Back page="deliveries" label={pages.deliveries} />
      <QueryView query={delivery} rows={8}>
        {(data) => <DeliveryView delivery={data} />}
      </QueryView>
    </>
  );
}

function DeliveryView({ delivery }: { delivery: WholeEventDelivery }) {
  const words = useWords();
  const { deliveries: t } = words;
  const { retry: mayRetry } = useRights();
  const now = useNow();
  const { endpoint_metadata: endpoint, metadata } = delivery;
  return (
    <>
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
        <h2 className="min-w-0 text-lg break-words">{delivery.event_type}</h2>
        <DeliveryBadge delivery={delivery} />
        <span className="grow" />
        {mayRetry && <Retry delivery={delivery} />}
      </div>
      <p className="my-3 max-w-[75ch] text-base">
        {tellDelivery(words, delivery, (at) => words.ui.relative(Date.parse(at), now))}
      </p>
      <Facts
        items={[
          [
            t.endpoint,
            endpoint === null ? undefined : (
              <a key="" className="link" href={placeOf('endpoints', endpoint.uid)}>
                {endpoint.name}
              </a>
            ),
          ],
          [t.tries, `${metadata.num_trials} / ${Math.max(metadata.num_trials, metadata.retry_limit)}`],
          [t.time, <Time key="" at={delivery.created_at} />],
          [t.id, <Id key="" value={delivery.uid} what={t.id} />],
        ]}
      />
      <Attempts delivery={delivery} />
      <Section title={t.payload}>
        <JsonView value={metadata.data} raw={metadata.raw} label={t.payload} />
      </Section>
    </>
  );
}

function Attempts({ delivery }: { delivery: WholeEventDelivery }) {
  const { deliveries: t } = useWords();
  const { data, raw, num_trials } = delivery.metadata;
  const attempts = useQuery({
    queryKey: ['attempts', delivery.uid, num_trials],
    queryFn: () => api.deliveryAttempts.list(delivery.uid),
    placeholderData: (before) => before,
  });
  const body = raw === '' ? JSON.stringify(data) : raw;
  return (
    <Section title={t.attempts}>
      <QueryView query={attempts} rows={2}>
        {(all) =>
          all.length === 0 ? (
            <p className="text-muted">{t.noAttempts}</p>
          ) : (
            <div className="border-t border-line">
              {all.toReversed().map((attempt, index) => (
                <AttemptView
                  key={attempt.uid}
                  attempt={attempt}
                  number={all.length - index}
                  body={body}
                  open={index === 0}
                />
              ))}
            </div>
          )
        }
      </QueryView>
    </Section>
  );
}

function Retry({ delivery: { uid, ...delivery } }: { delivery: WholeEventDelivery }) {
  const { deliveries: t } = useWords();
  const state = deliveryState(delivery);
  const isDone = state === 'delivered';
  const send = useAct(
    async () => (isDone ? api.eventDeliveries.forceResend({ ids: [uid] }) : api.eventDeliveries.resend(uid)),
    () => t.asked,
  );
  if (!isDone && !['failed', 'discarded', 'cancelled'].includes(state)) return null;
  return (
    <Button
      look={isDone ? 'plain' : 'main'}
      icon="again"
      onClick={() => send.mutate()}
      busy={send.isPending && t.asking}
    >
      {isDone ? t.again : t.retry}
    </Button>
  );
}
