import { useState } from 'react';
import { BulkDialog } from '../../dashboard/bulk-dialog.tsx';
import { plural } from '../../data/delivery-state.ts';
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

/** The acts on the deliveries that are ticked. */
export function ChosenBar({ selection: { chosen, clear } }: { selection: Chosen }) {
  const [bulk, setBulk] = useState<'retry' | 'cancel'>();
  if (chosen.size === 0) return null;
  return (
    <section
      aria-label="Chosen deliveries"
      className="mb-2 flex flex-wrap items-center gap-2 rounded-md bg-chosen px-3 py-1.5"
    >
      <span role="status" className="grow">
        {plural(chosen.size, 'delivery', 'deliveries')} chosen
        {chosen.size === MOST && '. That is the most: use the filters for more.'}
      </span>
      <Button look="quiet" onClick={clear}>
        Clear
      </Button>
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
    </section>
  );
}
