import type { EventDelivery } from 'posthorn-client';
import { Time } from '../../ui/text/time.tsx';
import { placeOf } from '../address.ts';
import { DeliveryBadge } from '../badges.tsx';
import { outcomeText } from '../reason.ts';
import { useWords } from '../words.ts';

/** Deliveries, one line each. The link of a line covers it. */
export function DeliveryLines({
  deliveries,
  plain = false,
}: {
  deliveries: EventDelivery[];
  plain?: boolean;
}) {
  const words = useWords();
  return (
    <ul className="-mx-1 border-t border-line" aria-label={words.pages.deliveries}>
      {deliveries.map((delivery) => (
        <li
          key={delivery.uid}
          className="relative grid min-h-10 grid-cols-[1fr_auto] items-center gap-x-4 border-b border-line px-1 py-1.5 hover:bg-hover sm:grid-cols-[9rem_minmax(0,1fr)_minmax(0,1.2fr)_6rem]"
        >
          <DeliveryBadge delivery={delivery} />
          <a
            href={placeOf('deliveries', delivery.uid)}
            className="col-span-2 col-start-1 row-start-2 min-w-0 truncate font-semibold after:absolute after:inset-0 sm:col-span-1 sm:col-start-2 sm:row-start-1"
          >
            {delivery.event_type}
          </a>
          <span className="col-span-2 col-start-1 row-start-3 min-w-0 truncate text-muted empty:hidden sm:col-span-1 sm:col-start-3 sm:row-start-1">
            {[
              ...(plain ? [] : [delivery.endpoint_metadata?.name ?? '']),
              ...(delivery.last_outcome === '' || delivery.status === 'Success'
                ? []
                : [outcomeText(words, delivery.last_outcome)]),
            ].join(' · ')}
          </span>
          <span className="col-start-2 row-start-1 text-right text-xs text-muted sm:col-start-4">
            <Time at={delivery.created_at} />
          </span>
        </li>
      ))}
    </ul>
  );
}
