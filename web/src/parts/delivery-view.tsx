import { useQuery } from '@tanstack/react-query';
import type { WholeEventDelivery } from 'posthorn-client';
import type { ReactNode } from 'react';
import { deliveryState, isOpen, receiverOf } from '../data/delivery-state.ts';
import { JsonView } from '../ui/code/json-view.tsx';
import { PageHead, Section } from '../ui/page/section.tsx';
import { Facts } from '../ui/tables/facts.tsx';
import { Id } from '../ui/text/id.tsx';
import { Time, useNow } from '../ui/text/time.tsx';
import { ActButton } from './acts.tsx';
import { Attempts } from './attempts.tsx';
import { DeliveryBadge } from './badges.tsx';
import { PageLink } from './page-link.tsx';
import { QueryView } from './query-view.tsx';
import { useSite } from './site.ts';
import { useWords } from './words.ts';

export type Ahead = NonNullable<WholeEventDelivery['waits_behind']>;

interface Props {
  id: string;
  mayRetry: boolean;
  /** More acts. */
  acts?(delivery: WholeEventDelivery): ReactNode;
  /** More acts on the delivery that it waits for. */
  actsAhead?(ahead: Ahead): ReactNode;
  /** More facts, after the endpoint. */
  facts?(delivery: WholeEventDelivery): [name: string, value: ReactNode][];
}

/** A delivery: how it stands, its attempts, its payload. One that is on its way is read every second. */
export function DeliveryView({ id, ...rest }: Props) {
  const { api, project } = useSite();
  const delivery = useQuery({
    queryKey: [project, 'delivery', id],
    queryFn: () => api.eventDeliveries.get(id),
    refetchInterval: ({ state: { data } }) => (data !== undefined && isOpen(data) ? 1000 : 10_000),
  });
  return (
    <QueryView query={delivery} rows={10}>
      {(data) => <Shown delivery={data} {...rest} />}
    </QueryView>
  );
}

type ShownProps = Omit<Props, 'id'> & { delivery: WholeEventDelivery };

function Shown({ delivery, mayRetry, acts, actsAhead, facts }: ShownProps) {
  const { deliveries: t, ui } = useWords();
  const { heading, tell } = useSite();
  const now = useNow();
  const { endpoint_metadata: endpoint, metadata } = delivery;
  return (
    <>
      <PageHead heading={heading} title={delivery.event_type} beside={<DeliveryBadge delivery={delivery} />}>
        {mayRetry && <SendAgain delivery={delivery} />}
        {acts?.(delivery)}
      </PageHead>
      <p className="mb-3 max-w-[75ch] text-base">
        {tell(delivery, (when) => ui.relative(Date.parse(when), now))}
      </p>
      {delivery.waits_behind !== null && (
        <WaitsBehind ahead={delivery.waits_behind} mayRetry={mayRetry}>
          {actsAhead?.(delivery.waits_behind)}
        </WaitsBehind>
      )}
      <Facts
        items={[
          [
            delivery.device_metadata === null ? t.endpoint : t.device,
            endpoint === null ? (
              receiverOf(delivery)
            ) : (
              <PageLink key="" to={`endpoints/${endpoint.uid}`}>
                {endpoint.name}
              </PageLink>
            ),
          ],
          ...(facts?.(delivery) ?? []),
          // Retries by hand may be more than its limit allows.
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

/** Retries what did not arrive. What did is sent once more. */
function SendAgain({ delivery }: { delivery: WholeEventDelivery }) {
  const { deliveries: t } = useWords();
  const { eventDeliveries } = useSite().api;
  const { uid } = delivery;
  const isDone = deliveryState(delivery) === 'delivered';
  if (isOpen(delivery)) return null;
  return (
    <ActButton
      look={isDone ? 'plain' : 'main'}
      icon="again"
      act={async () => (isDone ? eventDeliveries.forceResend({ ids: [uid] }) : eventDeliveries.resend(uid))}
      done={() => t.asked}
    >
      {isDone ? t.again : t.retry}
    </ActButton>
  );
}

interface AheadProps {
  ahead: Ahead;
  mayRetry: boolean;
  /** More acts. */
  children?: ReactNode;
}

/** The delivery that has to end before this one, and what its state allows to do about it. */
function WaitsBehind({ ahead: { event_delivery_id: id, acts }, mayRetry, children }: AheadProps) {
  const { deliveries: t } = useWords();
  const { eventDeliveries } = useSite().api;
  return (
    <div className="mb-3 flex flex-wrap items-center gap-2">
      <span>
        {t.waitsBehind} <PageLink to={`deliveries/${id}`}>{id}</PageLink>
      </span>
      {mayRetry && acts.includes('resend') && (
        <ActButton icon="again" act={() => eventDeliveries.resend(id)} done={() => t.asked}>
          {t.retryAhead}
        </ActButton>
      )}
      {mayRetry && acts.includes('send_now') && (
        <ActButton
          icon="arrow"
          act={() => eventDeliveries.sendNow({ deliveryId: [id] })}
          done={() => t.sendNowAsked}
        >
          {t.sendAheadNow}
        </ActButton>
      )}
      {children}
    </div>
  );
}
