import type { EventDelivery } from 'posthorn-client';
import { useState } from 'react';
import { BulkDialog } from '../../dashboard/bulk-dialog.tsx';
import { SelectionBar } from '../../dashboard/lists/selection-bar.tsx';
import { SendNow } from '../../dashboard/send-now.tsx';
import { maySendNow, plural } from '../../data/delivery-state.ts';
import { Button } from '../../ui/controls/button.tsx';
import type { Selection } from '../../ui/tables/tick.tsx';

/** Their ids are in the address of a request, which has room for so many. */
const MOST = 200;

interface Chosen extends Selection {
  clear(): void;
}

export function useChosen(): Chosen {
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  return {
    chosen,
    choose: (keys, isChosen) => {
      const next = new Set(chosen);
      for (const key of keys)
        if (!isChosen) next.delete(key);
        else if (next.size < MOST) next.add(key);
      setChosen(next);
    },
    clear: () => setChosen(new Set()),
  };
}

interface Props {
  selection: Chosen;
  /** The rows of the list, with the chosen ones among them. */
  rows: readonly EventDelivery[];
}

/** The acts on the deliveries that are ticked. */
export function ChosenBar({ selection: { chosen, clear }, rows }: Props) {
  const [bulk, setBulk] = useState<'retry' | 'cancel'>();
  if (chosen.size === 0) return null;
  const sendable = rows.filter((row) => chosen.has(row.uid) && maySendNow(row)).map(({ uid }) => uid);
  const most = chosen.size === MOST ? '. That is the most: use the filters for more.' : '';
  return (
    <SelectionBar
      label="Chosen deliveries"
      text={`${plural(chosen.size, 'delivery', 'deliveries')} chosen${most}`}
      onClear={clear}
    >
      <SendNow of={[{ deliveryId: sendable }]} count={sendable.length} />
      <Button onClick={() => setBulk('cancel')}>Cancel chosen…</Button>
      <Button look="main" icon="again" onClick={() => setBulk('retry')}>
        Retry chosen…
      </Button>
      {bulk !== undefined && (
        <BulkDialog
          kind={bulk}
          filters={{ deliveryId: [...chosen] }}
          chosenBy="You chose"
          onClose={() => setBulk(undefined)}
        />
      )}
    </SelectionBar>
  );
}
