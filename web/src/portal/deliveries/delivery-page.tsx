import type { WholeEventDelivery } from 'posthorn-client';
import { useAct } from '../../parts/acts.tsx';
import { DeliveryView } from '../../parts/delivery-view.tsx';
import { useWords } from '../../parts/words.ts';
import { Button } from '../../ui/controls/button.tsx';
import { Back } from '../back.tsx';
import { SENDABLE } from '../endpoints/health.ts';
import { useRights } from '../link.ts';
import { api } from '../session.ts';

export function DeliveryPage({ id }: { id: string }) {
  const { pages } = useWords();
  const { retry: mayRetry } = useRights();
  return (
    <>
      <Back page="deliveries" label={pages.deliveries} />
      <DeliveryView
        id={id}
        mayRetry={mayRetry}
        acts={(delivery) => mayRetry && <SendNow delivery={delivery} />}
      />
    </>
  );
}

/** Sends a delivery that waits for its next attempt, or behind the circuit breaker. */
function SendNow({ delivery }: { delivery: WholeEventDelivery }) {
  const { deliveries: t } = useWords();
  const send = useAct(
    () => api.eventDeliveries.sendNow({ deliveryId: [delivery.uid] }),
    () => t.sendNowAsked,
  );
  const isWaiting = SENDABLE.some((gate) => gate === delivery.waiting_for?.gate);
  if (!isWaiting || delivery.endpoint_metadata?.delivery === 'pull') return null;
  return (
    <Button look="main" icon="arrow" onClick={() => send.mutate()} busy={send.isPending && t.asking}>
      {t.sendNow}
    </Button>
  );
}
