import { useQuery } from '@tanstack/react-query';
import type { Subscription } from 'posthorn-client';
import { useState } from 'react';
import { BackToList, useOpenId } from '../../dashboard/lists/list-layout.tsx';
import { RetrySchedule, useProjectRetries } from '../../dashboard/retry-policy.tsx';
import { OnOffBadge } from '../../dashboard/states.tsx';
import { useMay } from '../../data/may.ts';
import { useProject } from '../../data/project.ts';
import { QueryView } from '../../parts/query-view.tsx';
import { useAct } from '../../parts/use-act.ts';
import { Button } from '../../ui/controls/button.tsx';
import { PageHead, Section } from '../../ui/page/section.tsx';
import { Facts } from '../../ui/tables/facts.tsx';
import { Id } from '../../ui/text/id.tsx';
import { Link, withSearch } from '../../ui/text/link.tsx';
import { count } from '../../ui/text/numbers.ts';
import { Time } from '../../ui/text/time.tsx';
import { FilterAndFunction } from './filter-and-function.tsx';
import { FilterEditor } from './filter-editor.tsx';
import { FunctionEditor } from './function-editor.tsx';
import { HeldKeys } from './ordering-keys.tsx';
import { DeleteSubscription, EditSubscription } from './subscription-dialogs.tsx';

export function SubscriptionPage() {
  const { api, id: project, at } = useProject();
  const id = useOpenId() ?? '';
  const subscription = useQuery({
    queryKey: [project, 'subscription', id],
    queryFn: () => api.subscriptions.get(id),
  });
  return (
    <>
      <BackToList href={at('subscriptions')} label="Subscriptions" />
      <QueryView query={subscription} label="Loading the subscription" rows={10}>
        {(data) => <View subscription={data} />}
      </QueryView>
    </>
  );
}

function View({ subscription }: { subscription: Subscription }) {
  const { api } = useProject();
  const [open, setOpen] = useState<'edit' | 'delete'>();
  const may = useMay();
  const mayChange = may('updateSubscription');
  const maySeeKeys = may('listOrderingKeys');
  const { uid } = subscription;
  const ofProject = useProjectRetries();
  const retries = subscription.retry_config ?? ofProject;
  const isActive = subscription.status === 'active';
  const toggle = useAct(
    () => api.subscriptions.toggleStatus(uid),
    ({ status }) =>
      status === 'active' ? 'Active: it matches events again' : 'Inactive: it matches nothing',
    async ({ status }) => {
      const now = await api.subscriptions.get(uid);
      return now.status === status && api.subscriptions.toggleStatus(uid);
    },
  );
  return (
    <>
      <PageHead title={subscription.name} beside={<OnOffBadge on={isActive} />}>
        {mayChange && (
          <>
            <Button
              icon={isActive ? 'pause' : 'play'}
              onClick={() => toggle.mutate()}
              busy={toggle.isPending && 'Asking'}
            >
              {isActive ? 'Deactivate' : 'Activate'}
            </Button>
            <Button onClick={() => setOpen('edit')}>Edit…</Button>
            <Button look="danger" onClick={() => setOpen('delete')}>
              Delete…
            </Button>
          </>
        )}
      </PageHead>
      <SubscriptionFacts subscription={subscription} />
      {maySeeKeys && subscription.ordering !== undefined && <HeldKeys subscriptionId={uid} />}
      {retries !== undefined && (
        <Section title="Retries" aside={subscription.retry_config === undefined && 'as the project has it'}>
          <RetrySchedule policy={retries} />
        </Section>
      )}
      {mayChange ? (
        <>
          <FilterEditor key={`filter ${subscription.updated_at}`} subscription={subscription} />
          <FunctionEditor key={`function ${subscription.updated_at}`} subscription={subscription} />
        </>
      ) : (
        <FilterAndFunction subscription={subscription} />
      )}
      {open === 'edit' && <EditSubscription subscription={subscription} onClose={() => setOpen(undefined)} />}
      {open === 'delete' && (
        <DeleteSubscription subscription={subscription} onClose={() => setOpen(undefined)} />
      )}
    </>
  );
}

function SubscriptionFacts({ subscription }: { subscription: Subscription }) {
  const { at } = useProject();
  const {
    endpoint_metadata: endpoint,
    device_metadata: device,
    source_metadata: source,
    alert_config: alert,
    rate_limit_config: rate,
    ordering,
    batch,
    uid,
  } = subscription;
  return (
    <Facts
      items={[
        [
          device === null ? 'Endpoint' : 'Device',
          endpoint === null ? (
            (device?.host_name ?? '')
          ) : (
            <Link key="" className="link" href={at(`endpoints/${endpoint.uid}`)}>
              {endpoint.name}
            </Link>
          ),
        ],
        [
          'Source',
          source === null ? (
            'any'
          ) : (
            <Link key="" className="link" href={at(`sources/${source.uid}`)}>
              {source.name}
            </Link>
          ),
        ],
        ['Event types', subscription.filter_config.event_types.join(', ')],
        [
          'Rate limit',
          rate === undefined || rate.count === 0 ? 'none' : `${rate.count} deliveries in ${rate.duration} s`,
        ],
        [
          'Alert',
          alert === undefined ? 'none' : `after ${alert.count} failed attempts within ${alert.threshold}`,
        ],
        [
          'Order',
          ordering === undefined
            ? 'none'
            : `by ${ordering.key}; a failure ${ordering.on_failure === 'hold' ? 'holds its key' : 'is skipped'}`,
        ],
        [
          'Batches',
          batch === undefined
            ? 'none'
            : `of ${count(batch.max)} deliveries or ${count(batch.max_bytes)} bytes, after ${batch.max_wait_seconds} s at the latest`,
        ],
        ['Mode', subscription.delivery_mode.replaceAll('_', ' ')],
        [
          'Deliveries expire',
          subscription.ttl_seconds === 0 ? 'never' : `after ${subscription.ttl_seconds} s`,
        ],
        [
          'Deliveries',
          <Link key="" className="link" href={withSearch(at('deliveries'), { subscription: uid })}>
            Show
          </Link>,
        ],
        ['Created', <Time key="" at={subscription.created_at} />],
        ['ID', <Id key="" value={uid} what="subscription id" />],
      ]}
    />
  );
}
