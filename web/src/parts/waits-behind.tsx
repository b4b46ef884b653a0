import type { WholeEventDelivery } from 'posthorn-client';
import type { ReactNode } from 'react';
import { ActButton } from './acts.tsx';
import { PageLink } from './page-link.tsx';
import { useSite } from './site.ts';
import { useWords } from './words.ts';

export type Ahead = NonNullable<WholeEventDelivery['waits_behind']>;

interface Props {
  ahead: Ahead;
  mayRetry: boolean;
  /** More acts. */
  children?: ReactNode;
}

/** The delivery that has to end before this one, and what its state allows to do about it. */
export function WaitsBehind({ ahead: { event_delivery_id: id, acts }, mayRetry, children }: Props) {
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
