import { useQuery } from '@tanstack/react-query';
import type { EventType } from 'posthorn-client';
import { type ReactElement, useState } from 'react';
import { May } from '../../dashboard/may.tsx';
import { PageBody } from '../../dashboard/page-body.tsx';
import { useProject } from '../../data/project.ts';
import { ActButton } from '../../parts/acts.tsx';
import { QueryView } from '../../parts/query-view.tsx';
import { JsonView } from '../../ui/code/json-view.tsx';
import { Button, RowButton } from '../../ui/controls/button.tsx';
import { PageHead } from '../../ui/page/section.tsx';
import { EmptyState } from '../../ui/page/states.tsx';
import { Time } from '../../ui/text/time.tsx';
import { AddType, EditType, ImportTypes } from './type-dialogs.tsx';

/** The catalogue: what receivers may subscribe to, with schemas. */
export function EventTypes() {
  const { api, id } = useProject();
  const [open, setOpen] = useState<ReactElement>();
  const close = () => setOpen(undefined);
  const types = useQuery({ queryKey: [id, 'event-types'], queryFn: () => api.eventTypes.list() });
  const acts = (
    <May use="createEventType">
      <Button onClick={() => setOpen(<ImportTypes onClose={close} />)}>Import from OpenAPI…</Button>
      <Button look="main" icon="plus" onClick={() => setOpen(<AddType onClose={close} />)}>
        Add event type
      </Button>
    </May>
  );
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
                <TypeRow
                  key={type.uid}
                  type={type}
                  onEdit={() => setOpen(<EditType type={type} onClose={close} />)}
                />
              ))}
            </ul>
          )
        }
      </QueryView>
      {open}
    </PageBody>
  );
}

function TypeRow({ type, onEdit }: { type: EventType; onEdit(): void }) {
  const { api } = useProject();
  return (
    <li className="border-b border-line py-1.5">
      <div className="flex min-h-8 flex-wrap items-center gap-x-3">
        <span className="font-mono font-semibold">{type.name}</span>
        {type.category !== '' && <span className="text-muted">{type.category}</span>}
        {type.description !== '' && <span className="min-w-48 flex-1">{type.description}</span>}
        {type.deprecated_at === null ? (
          <May use="updateEventType">
            <span className="ml-auto flex gap-2">
              <RowButton act="Edit" of={type.name} onClick={onEdit} />
              <ActButton
                className="h-7"
                aria-label={`Deprecate ${type.name}`}
                act={() => api.eventTypes.deprecate(type.uid)}
                done={() => `${type.name} is deprecated. It still works.`}
              >
                Deprecate
              </ActButton>
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
