import { useQuery } from '@tanstack/react-query';
import type { EventDelivery, ExplainEventResult } from 'posthorn-client';
import { CustomerLink } from '../../dashboard/customer-link.tsx';
import { customerOf, plural, receiverOf, tellDelivery } from '../../data/delivery-state.ts';
import { useProject } from '../../data/project.ts';
import { DeliveryBadge } from '../../parts/badges.tsx';
import { QueryView } from '../../parts/query-view.tsx';
import { Section } from '../../ui/page/section.tsx';
import { Link } from '../../ui/text/link.tsx';
import { StateBadge } from '../../ui/text/state-badge.tsx';
import { relative, useNow } from '../../ui/text/time.tsx';

/** Each delivery with its state in one sentence, and each subscription that did not match with the reason. */
export function WhereItWent({ id, isDuplicate }: { id: string; isDuplicate: boolean }) {
  const { api, id: project } = useProject();
  const deliveries = useQuery({
    queryKey: [project, 'event', id, 'deliveries'],
    queryFn: () => api.eventDeliveries.list({ eventId: id, sort: 'ASC', perPage: 200 }).page(),
    refetchInterval: 2000,
  });
  const explain = useQuery({
    queryKey: [project, 'event', id, 'explain'],
    queryFn: () => api.events.explain(id),
  });
  return (
    <>
      <Section title="Where it went">
        <QueryView query={deliveries} label="Loading deliveries" rows={3}>
          {({ content }) =>
            content.length === 0 ? (
              <p className="text-muted">
                {isDuplicate
                  ? 'Nowhere: it is a duplicate of an earlier event.'
                  : 'Nowhere: no subscription matched it. The reasons are below.'}
              </p>
            ) : (
              <ul className="border-t border-line">
                {content.map((delivery) => (
                  <DeliveryLine key={delivery.uid} delivery={delivery} />
                ))}
              </ul>
            )
          }
        </QueryView>
      </Section>
      <Section title="Where it did not go">
        <QueryView query={explain} label="Asking each subscription" rows={2}>
          {({ subscriptions }) => <NotMatched all={subscriptions} />}
        </QueryView>
      </Section>
    </>
  );
}

function DeliveryLine({ delivery }: { delivery: EventDelivery }) {
  const { at } = useProject();
  const now = useNow();
  return (
    <li className="relative grid gap-x-4 border-b border-line py-1.5 hover:bg-hover sm:grid-cols-[9.5rem_minmax(0,1fr)]">
      <DeliveryBadge delivery={delivery} />
      <div className="min-w-0">
        <Link href={at(`deliveries/${delivery.uid}`)} className="link after:absolute after:inset-0">
          {receiverOf(delivery)}
        </Link>{' '}
        <CustomerLink owner={customerOf(delivery)} none="" />{' '}
        <span className="break-all text-muted">{delivery.target_url}</span>
        <p>{tellDelivery(delivery, (when) => relative(Date.parse(when), now))}</p>
      </div>
    </li>
  );
}

type Explained = ExplainEventResult['subscriptions'];
const LOOK = { tone: 'off', shape: 'ring', word: 'No match' } as const;

function NotMatched({ all }: { all: Explained }) {
  const { at } = useProject();
  const others = all.filter(({ matched }) => !matched);
  if (all.length === 0) return <p className="text-muted">This project has no subscriptions.</p>;
  if (others.length === 0)
    return (
      <p className="text-muted">Every subscription matches it now ({plural(all.length, 'subscription')}).</p>
    );
  return (
    <ul className="border-t border-line">
      {others.map((one) => (
        <li
          key={one.subscription_id}
          className="grid gap-x-4 border-b border-line py-1.5 sm:grid-cols-[9.5rem_minmax(0,1fr)]"
        >
          <StateBadge look={LOOK} />
          <div className="min-w-0">
            <Link href={at(`subscriptions/${one.subscription_id}`)} className="link">
              {one.name}
            </Link>
            <p>{one.reason}</p>
          </div>
        </li>
      ))}
    </ul>
  );
}
