import type { WholeEventDelivery } from 'posthorn-client';
import type { ReactNode } from 'react';
import { CustomerLink } from '../../dashboard/customer-link.tsx';
import { BackToList, useOpenId } from '../../dashboard/lists/list-layout.tsx';
import { May } from '../../dashboard/may.tsx';
import { SendNow } from '../../dashboard/send-now.tsx';
import { customerOf, isOpen, maySendNow } from '../../data/delivery-state.ts';
import { useMay } from '../../data/may.ts';
import { useProject } from '../../data/project.ts';
import { ActButton } from '../../parts/acts.tsx';
import { type Ahead, DeliveryView } from '../../parts/delivery-view.tsx';
import { Id } from '../../ui/text/id.tsx';
import { Time } from '../../ui/text/time.tsx';

export function DeliveryPage() {
  const { at } = useProject();
  const mayRetry = useMay()('resendEventDelivery');
  return (
    <>
      <BackToList href={at('deliveries')} label="Deliveries" />
      <DeliveryView
        id={useOpenId() ?? ''}
        mayRetry={mayRetry}
        acts={(delivery) => <Acts delivery={delivery} />}
        actsAhead={(ahead) => <ActsAhead ahead={ahead} />}
        facts={(delivery) => factsOf(delivery, at)}
      />
    </>
  );
}

function factsOf(
  delivery: WholeEventDelivery,
  at: (page: string) => string,
): [name: string, value: ReactNode][] {
  const { event_metadata: event, metadata, subscription_id: subscription, target_url: url } = delivery;
  const next = delivery.waiting_for?.until ?? metadata.next_send_time;
  return [
    ['Customer', <CustomerLink key="" owner={customerOf(delivery)} />],
    ['Event', <Id key="" value={event.uid} what="event id" href={at(`events/${delivery.event_id}`)} />],
    [
      'Subscription',
      <Id key="" value={subscription} what="subscription id" href={at(`subscriptions/${subscription}`)} />,
    ],
    [
      delivery.endpoint_metadata?.delivery === 'broker' ? 'Broker' : 'URL',
      url === '' ? undefined : (
        <span key="" className="break-all">
          {url}
        </span>
      ),
    ],
    [
      'Next attempt',
      isOpen(delivery) ? <Time key="" at={next} none="as soon as a node has room" /> : undefined,
    ],
    ['Expires', delivery.expires_at === null ? undefined : <Time key="" at={delivery.expires_at} />],
    ['Retries', metadata.strategy],
    ['Mode', delivery.delivery_mode.replaceAll('_', ' ')],
  ];
}

function Acts({ delivery }: { delivery: WholeEventDelivery }) {
  return (
    <>
      <SendNow of={[{ deliveryId: [delivery.uid] }]} count={maySendNow(delivery) ? 1 : 0} stays>
        Send now
      </SendNow>
      {isOpen(delivery) && <Cancel id={delivery.uid}>Cancel</Cancel>}
    </>
  );
}

function ActsAhead({ ahead: { acts, event_delivery_id: id, ordering_key_id: key } }: { ahead: Ahead }) {
  const { api } = useProject();
  return (
    <>
      {acts.includes('skip') && (
        <May use="skipOrderingKeys">
          <ActButton
            act={() => api.subscriptions.skipOrderingKeys({ ids: [key] })}
            done={() => 'Skipped: the next delivery goes'}
          >
            Skip it
          </ActButton>
        </May>
      )}
      {acts.includes('cancel') && <Cancel id={id}>Cancel it</Cancel>}
    </>
  );
}

function Cancel({ id, children }: { id: string; children: ReactNode }) {
  const { api } = useProject();
  return (
    <May use="cancelEventDeliveries">
      <ActButton
        look="danger"
        act={() => api.eventDeliveries.cancel({ deliveryId: [id] })}
        done={() => 'Cancellation requested'}
      >
        {children}
      </ActButton>
    </May>
  );
}
