import type { EventType } from 'posthorn-client';
import { useState } from 'react';
import { exampleOf } from '../data/example.ts';
import { useEventTypes } from '../parts/event-types.ts';
import { QueryView } from '../parts/query-view.tsx';
import { useWords } from '../parts/words.ts';
import { JsonView } from '../ui/code/json-view.tsx';
import { EmptyState } from '../ui/page/states.tsx';

/** The catalogue: what each type means, and an example of its payload. */
export function EventTypes() {
  const { eventTypes: t } = useWords();
  const [find, setFind] = useState('');
  const types = useEventTypes();
  return (
    <QueryView query={types}>
      {(all) =>
        all.length === 0 ? (
          <EmptyState title={t.none} text={t.noneText} />
        ) : (
          <>
            <input
              aria-label={t.find}
              placeholder={t.find}
              value={find}
              onChange={(event) => setFind(event.target.value)}
              className="field mb-3 w-full sm:w-80"
            />
            <div className="border-t border-line">
              {all
                .filter((type) => matches(type, find.trim().toLowerCase()))
                .map((type) => (
                  <Type key={type.uid} type={type} />
                ))}
            </div>
          </>
        )
      }
    </QueryView>
  );
}

const matches = ({ name, description, category }: EventType, find: string): boolean =>
  `${name} ${description} ${category}`.toLowerCase().includes(find);

function Type({ type }: { type: EventType }) {
  const { eventTypes: t } = useWords();
  const [open, setOpen] = useState(false);
  const example = open ? exampleOf(type.json_schema) : undefined;
  return (
    <details className="border-b border-line" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary className="-mx-1 grid gap-x-4 px-1 py-2 hover:bg-hover sm:grid-cols-[minmax(0,16rem)_minmax(0,1fr)_auto]">
        <span className="font-mono font-semibold break-all">{type.name}</span>
        <span className="text-muted">{type.description}</span>
        <span className="text-xs text-muted">
          {type.deprecated_at === null ? type.category : t.deprecated}
        </span>
      </summary>
      {open && (
        <div className="px-1 pt-2 pb-3">
          {example === undefined ? (
            <p className="text-muted">{t.noExample}</p>
          ) : (
            <>
              <h3 className="mb-1 text-xs text-muted">{t.example}</h3>
              <JsonView value={example} label={t.example} />
            </>
          )}
        </div>
      )}
    </details>
  );
}
