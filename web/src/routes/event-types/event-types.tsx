import { useQuery } from '@tanstack/react-query';
import type { EventType } from 'posthorn-client';
import { useState } from 'react';
import { May } from '../../dashboard/may.tsx';
import { PageBody } from '../../dashboard/page-body.tsx';
import { useProject } from '../../data/project.ts';
import { QueryView } from '../../parts/query-view.tsx';
import { useAct } from '../../parts/use-act.ts';
import { JsonView } from '../../ui/code/json-view.tsx';
import { Button } from '../../ui/controls/button.tsx';
import { PageHead } from '../../ui/page/section.tsx';
import { EmptyState } from '../../ui/page/states.tsx';
import { Time } from '../../ui/text/time.tsx';
import { EditType, ImportTypes } from './type-dialogs.tsx';

type Open = { kind: 'new' } | { kind: 'import' } | { kind: 'edit'; type: EventType };

/** The catalogue: what receivers may subscribe to, with schemas. */
export function EventTypes() {
  const { api, id } = useProject();
  const [open, setOpen] = useState<Open>();
  const types = useQuery({ queryKey: [id, 'event-types'], queryFn: () => api.eventTypes.list() });
  const acts = (
    <May use="createEventType">
      <Button onClick={() => setOpen({ kind: 'import' })}>Import from OpenAPI…</Button>
      <Button look="main" icon="plus" onClick={() => setOpen({ kind: 'new' })}>
        Add event type
      </Button>
    </May>
  );
  const close = () => setOpen(undefined);
  return (
    <PageBody>
      <PageHead title="Event types">{acts}</PageHead>
      <QueryView query={types} label="Loading event types">
        {(all) =>
          all.filter(({ name }) => name !== '*').length === 0 ? (
            <EmptyState
              title="No event types yet"
              text="The catalogue tells receivers which events there are and what is in them. Events of other types are accepted too."
            >
              {acts}
            </EmptyState>
          ) : (
            <ul className="border-t border-line">
              {all.map((type) => (
                <TypeRow key={type.uid} type={type} onEdit={() => setOpen({ kind: 'edit', type })} />
              ))}
            </ul>
          )
        }
      </QueryView>
      {open?.kind === 'import' && <ImportTypes onClose={close} />}
      {open?.kind === 'new' && <EditType onClose={close} />}
      {open?.kind === 'edit' && <EditType type={open.type} onClose={close} />}
    </PageBody>
  );
}

function TypeRow({ type, onEdit }: { type: EventType; onEdit(): void }) {
  const { api } = useProject();
  const deprecate = useAct(
    () => api.eventTypes.deprecate(type.uid),
    () => `${type.name} is deprecated. It still works.`,
  );
  return (
    <li className="border-b border-line py-1.5">
      <div className="flex min-h-8 flex-wrap items-center gap-x-3">
        <span className="font-mono font-semibold">{type.name}</span>
        {type.category !== '' && <span className="text-muted">{type.category}</span>}
        {type.description !== '' && <span className="min-w-48 flex-1">{type.description}</span>}
        {type.deprecated_at === null ? (
          <May use="updateEventType">
            <span className="ml-auto flex gap-2">
              <Button className="h-7" onClick={onEdit} aria-label={`Edit ${type.name}`}>
                Edit…
              </Button>
              <Button
                className="h-7"
                onClick={() => deprecate.mutate()}
                busy={deprecate.isPending && 'Asking'}
                aria-label={`Deprecate ${type.name}`}
              >
                Deprecate
              </Button>
            </span>
          </May>
        ) : (
          <span className="ml-auto text-muted">
            deprecated <Time at={type.deprecated_at} />
          </span>
        )}
      </div>
      {type.json_schema !== null && (
        <details>
          <summary className="text-muted">Schema</summary>
          <JsonView value={type.json_schema} label={`Schema of ${type.name}`} />
        </details>
      )}
    </li>
  );
}
