import type { EventDelivery } from 'posthorn-client';
import { receiverOf, whyOf } from '../data/delivery-state.ts';
import { useProject } from '../data/project.ts';
import { Link } from '../ui/text/link.tsx';
import { Time } from '../ui/text/time.tsx';
import { DeliveryBadge } from './states.tsx';

/** A few deliveries, one line each. */
export function DeliveryLines({
  deliveries,
  none,
  showEndpoint = false,
}: {
  deliveries: EventDelivery[];
  none: string;
  showEndpoint?: boolean;
}) {
  const { at } = useProject();
  if (deliveries.length === 0) return <p className="text-muted">{none}</p>;
  return (
    <ul className="border-t border-line">
      {deliveries.map((delivery) => (
        <li
          key={delivery.uid}
          className="relative flex min-h-8 flex-wrap items-center gap-x-3 border-b border-line py-1 hover:bg-hover"
        >
          <span className="w-32 sm:w-36">
            <DeliveryBadge delivery={delivery} />
          </span>
          <Link
            href={at(`deliveries/${delivery.uid}`)}
            className="min-w-0 grow truncate after:absolute after:inset-0 sm:grow-0"
          >
            {delivery.event_type}
            {showEndpoint && <span className="text-muted"> to {receiverOf(delivery)}</span>}
          </Link>
          <span className="hidden min-w-0 flex-1 truncate text-muted sm:block">{whyOf(delivery)}</span>
          <span className="text-xs text-muted">
            <Time at={delivery.created_at} />
          </span>
        </li>
      ))}
    </ul>
  );
}
