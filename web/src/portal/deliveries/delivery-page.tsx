import { DeliveryView } from '../../parts/delivery-view.tsx';
import { useWords } from '../../parts/words.ts';
import { Back } from '../back.tsx';
import { useRights } from '../link.ts';

export function DeliveryPage({ id }: { id: string }) {
  const { pages } = useWords();
  return (
    <>
      <Back page="deliveries" label={pages.deliveries} />
      <DeliveryView id={id} mayRetry={useRights().retry} />
    </>
  );
}
