import { useQuery } from '@tanstack/react-query';
import type { Endpoint, Subscription } from 'posthorn-client';
import { useState } from 'react';
import { editedSubscription } from '../../data/edit/edited-subscription.ts';
import { ActDialog } from '../../parts/act-dialog.tsx';
import { pickedTypes } from '../../parts/event-types.ts';
import { EditDialog } from '../../parts/forms/edit-dialog.tsx';
import { useAsOpened } from '../../parts/forms/save.ts';
import { QueryView } from '../../parts/query-view.tsx';
import { useWords } from '../../parts/words.ts';
import { Button } from '../../ui/controls/button.tsx';
import { Section } from '../../ui/page/section.tsx';
import { useRights } from '../link.ts';
import { api } from '../session.ts';
import { EditFunction, isHidden } from './edit-function.tsx';
import { EventTypePicker } from './event-type-picker.tsx';
import { subscriptionsQuery } from './queries.ts';

/** The event types of the endpoint. It may have several subscriptions, and each has its types. */
export function EndpointTypes({ endpoint }: { endpoint: Endpoint }) {
  const { endpoints: t } = useWords();
  const subscriptions = useQuery(subscriptionsQuery(endpoint.uid));
  return (
    <Section title={t.types}>
      <QueryView query={subscriptions} rows={1}>
        {(all) =>
          (all.length === 0 ? [undefined] : all).map((one) => (
            <Types key={one?.uid ?? ''} endpoint={endpoint} subscription={one} />
          ))
        }
      </QueryView>
    </Section>
  );
}

const actOn = (subscription: Subscription): 'add' | 'replace' | 'edit' => {
  if (subscription.function === '') return 'add';
  return isHidden(subscription) ? 'replace' : 'edit';
};

interface Props {
  endpoint: Endpoint;
  subscription: Subscription | undefined;
}

function Types({ endpoint, subscription }: Props) {
  const { endpoints: t, functions, ui } = useWords();
  const { manage: mayManage, editFunctions } = useRights();
  const [open, setOpen] = useState<'types' | 'function'>();
  const close = () => setOpen(undefined);
  const types = subscription?.filter_config.event_types ?? [];
  return (
    <div className="flex flex-wrap items-center gap-2 border-t border-line py-2">
      <span className="flex min-w-0 grow flex-wrap gap-1.5">
        {subscription === undefined && <span className="text-muted">{ui.none}</span>}
        {types.includes('*')
          ? t.allTypes
          : types.map((name) => (
              <code key={name} className="rounded-sm bg-hover px-1.5 py-0.5 font-mono text-xs break-all">
                {name}
              </code>
            ))}
      </span>
      {editFunctions && subscription !== undefined && (
        <Button onClick={() => setOpen('function')}>{functions[actOn(subscription)]}</Button>
      )}
      {mayManage && <Button onClick={() => setOpen('types')}>{t.chooseTypes}</Button>}
      {open === 'types' && <ChooseTypes {...{ endpoint, subscription }} onClose={close} />}
      {open === 'function' && subscription !== undefined && (
        <EditFunction subscription={subscription} onClose={close} />
      )}
    </div>
  );
}

/** The event types of one subscription. Without one, a subscription is made. */
function ChooseTypes({ endpoint, subscription, onClose }: Props & { onClose(): void }) {
  const { endpoints: t } = useWords();
  const dialog = { title: t.types, action: t.saveTypes, onClose };
  const stored = useAsOpened({ subscription }).subscription;
  if (stored !== undefined)
    return (
      <EditDialog
        {...dialog}
        edited={editedSubscription(api, stored)}
        labels={{ filter_config: t.types }}
        changeOf={(form, { filter_config: { filter } }) => {
          const { body, headers, query, path } = filter;
          // An update replaces the whole filter, so its conditions go along. The picker has an order of its own.
          return {
            filter_config: {
              event_types: pickedTypes(form).toSorted(),
              filter: { body, headers, query, path },
            },
          };
        }}
      >
        <EventTypePicker chosen={stored.filter_config.event_types} />
      </EditDialog>
    );
  const add = (form: FormData) =>
    api.subscriptions.create({
      name: endpoint.name,
      endpoint_id: endpoint.uid,
      filter_config: { event_types: pickedTypes(form) },
    });
  return (
    <ActDialog {...dialog} onSubmit={add}>
      <EventTypePicker chosen={[]} />
    </ActDialog>
  );
}
