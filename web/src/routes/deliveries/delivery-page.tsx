import { useQuery } from '@tanstack/react-query';
import type { WholeEventDelivery } from 'posthorn-client';
import { deliveryState, receiverOf, tellDelivery, triesOf } from '../../data/delivery-state.ts';
import { useProject } from '../../data/project.ts';
import { BackToList, useOpenId } from '../../parts/lists/list-layout.tsx';
import { May } from '../../parts/may.tsx';
import { QueryView } from '../../parts/query-view.tsx';
import { DeliveryBadge } from '../../parts/states.tsx';
import { useAct } from '../../parts/use-act.ts';
import { JsonView } from '../../ui/code/json-view.tsx';
import { Button } from '../../ui/controls/button.tsx';
import { PageHead, Section } from '../../ui/page/section.tsx';
import { Facts } from '../../ui/tables/facts.tsx';
import { Id } from '../../ui/text/id.tsx';
import { Link } from '../../ui/text/link.tsx';
import { relative, Time, useNow } from '../../ui/text/time.tsx';
import { Attempts } from './attempts.tsx';
import { deliveryQuery, isOpen } from './queries.ts';

export function DeliveryPage() {
  const { api, id: project, at } = useProject();
  const id = useOpenId() ?? '';
  const delivery = useQuery(deliveryQuery(api, project, id));
  return (
    <>
      <BackToList href={at('deliveries')} label="Deliveries" />
      <QueryView query={delivery} label="Loading the delivery" rows={10}>
        {(data) => <DeliveryView delivery={data} />}
      </QueryView>
    </>
  );
}

function DeliveryView({ delivery }: { delivery: WholeEventDelivery }) {
  const { at } = useProject();
  const now = useNow();
  const { endpoint_metadata: endpoint, event_metadata: event, metadata } = delivery;
  return (
    <>
      <PageHead title={delivery.event_type} beside={<DeliveryBadge delivery={delivery} />}>
        <May use="resendEventDelivery">
          <Acts delivery={delivery} />
        </May>
      </PageHead>
      <p className="mb-3 max-w-[75ch] text-base">
        {tellDelivery(delivery, (when) => relative(Date.parse(when), now))}
      </p>
      <Facts
        items={[
          [
            delivery.device_metadata === null ? 'Endpoint' : 'Device',
            endpoint === null ? (
              receiverOf(delivery)
            ) : (
              <Link key="" className="link" href={at(`endpoints/${endpoint.uid}`)}>
                {endpoint.name}
              </Link>
            ),
          ],
          ['Event', <Id key="" value={event.uid} what="event id" href={at(`events/${delivery.event_id}`)} />],
          [
            'Subscription',
            <Id
              key=""
              value={delivery.subscription_id}
              what="subscription id"
              href={at(`subscriptions/${delivery.subscription_id}`)}
            />,
          ],
          [
            'Address',
            delivery.target_url === '' ? undefined : (
              <span key="" className="break-all">
                {delivery.target_url}
              </span>
            ),
          ],
          ['Tries', `${triesOf(metadata)}, ${metadata.strategy}`],
          ['Created', <Time key="" at={delivery.created_at} />],
          [
            'Next try',
            isOpen(delivery) ? (
              <Time
                key=""
                at={delivery.waiting_for?.until ?? metadata.next_send_time}
                none="as soon as a node has room"
              />
            ) : undefined,
          ],
          ['Mode', delivery.delivery_mode.replaceAll('_', ' ')],
          ['Delivery id', <Id key="" value={delivery.uid} what="delivery id" />],
        ]}
      />
      <Attempts delivery={delivery} />
      <Section title="Payload">
        <JsonView value={metadata.data} raw={metadata.raw} label="Payload" />
      </Section>
    </>
  );
}

function Acts({ delivery }: { delivery: WholeEventDelivery }) {
  const { api } = useProject();
  const { uid } = delivery;
  const retry = useAct(
    () => api.eventDeliveries.resend(uid),
    () => 'Retry asked for',
  );
  const again = useAct(
    () => api.eventDeliveries.forceResend({ ids: [uid] }),
    () => 'Asked to send it again',
  );
  const cancel = useAct(
    () => api.eventDeliveries.cancel({ deliveryId: [uid] }),
    () => 'Cancel asked for',
  );
  switch (deliveryState(delivery)) {
    case 'failed':
    case 'discarded':
    case 'cancelled':
      return (
        <Button look="main" icon="again" onClick={() => retry.mutate()} busy={retry.isPending && 'Asking'}>
          Retry
        </Button>
      );
    case 'delivered':
      return (
        <Button icon="again" onClick={() => again.mutate()} busy={again.isPending && 'Asking'}>
          Send again
        </Button>
      );
    case 'scheduled':
    case 'in flight':
    case 'retrying':
    case 'held':
      return (
        <Button look="danger" onClick={() => cancel.mutate()} busy={cancel.isPending && 'Asking'}>
          Cancel
        </Button>
      );
  }
}
