import { useQuery } from '@tanstack/react-query';
import type { Endpoint, Subscription } from 'posthorn-client';
import { useState } from 'react';
import { QueryView } from '../../parts/query-view.tsx';
import { useWords } from '../../parts/words.ts';
import { Button } from '../../ui/controls/button.tsx';
import { Section } from '../../ui/page/section.tsx';
import { useRights } from '../link.ts';
import { EditFunction, isHidden } from './edit-function.tsx';
import { ChooseTypes } from './endpoint-dialogs.tsx';
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

function Types({ endpoint, subscription }: { endpoint: Endpoint; subscription: Subscription | undefined }) {
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
