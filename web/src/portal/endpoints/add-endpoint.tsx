import { AddEndpoint as AddAnyEndpoint } from '../../parts/add-endpoint.tsx';
import { useWords } from '../../parts/words.ts';
import { useRights } from '../link.ts';
import { EventTypePicker } from './event-type-picker.tsx';

/** A link that may send tests sends one. */
export function AddEndpoint({ onClose }: { onClose(): void }) {
  const { endpoints: t } = useWords();
  const { retry: mayTest } = useRights();
  return (
    <AddAnyEndpoint
      title={t.first}
      action={mayTest ? t.addAndTest : t.add}
      isTested={() => mayTest}
      onClose={onClose}
    >
      <EventTypePicker chosen={[]} />
    </AddAnyEndpoint>
  );
}
