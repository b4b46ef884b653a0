import type { Subscription } from 'posthorn-client';
import { useState } from 'react';
import { RowPage } from '../../dashboard/lists/row-page.tsx';
import { RetrySchedule, useProjectRetries } from '../../dashboard/retry-policy.tsx';
import { OnOffBadge } from '../../dashboard/states.tsx';
import { useMay } from '../../data/may.ts';
import { useProject } from '../../data/project.ts';
import { ActButton } from '../../parts/acts.tsx';
import { PageLink } from '../../parts/page-link.tsx';
import { Button } from '../../ui/controls/button.tsx';
import { PageHead, Section } from '../../ui/page/section.tsx';
import { Facts } from '../../ui/tables/facts.tsx';
import { Id } from '../../ui/text/id.tsx';
import { count } from '../../ui/text/numbers.ts';
import { Time } from '../../ui/text/time.tsx';
import { FilterAndFunction } from './filter-and-function.tsx';
import { FilterEditor } from './filter-editor.tsx';
import { FunctionEditor } from './function-editor.tsx';
import { HeldKeys } from './ordering-keys.tsx';
import { DeleteSubscription, EditSubscription } from './subscription-dialogs.tsx';

export const SubscriptionPage = () => (
  <RowPage
    list="subscriptions"
    title="Subscriptions"
    noun="subscription"
    load={({ subscriptions }, id) => subscriptions.get(id)}
  >
    {(subscription) => <View subscription={subscription} />}
  </RowPage>
);

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
  return (
    <>
      <PageHead title={subscription.name} beside={<OnOffBadge on={isActive} />}>
        {mayChange && (
          <>
            <ActButton
              icon={isActive ? 'pause' : 'play'}
              act={() => api.subscriptions.toggleStatus(uid)}
              done={({ status }) =>
                status === 'active' ? 'Active: it matches events again' : 'Inactive: it matches nothing'
              }
              undo={async ({ status }) => {
                const now = await api.subscriptions.get(uid);
                return now.status === status && api.subscriptions.toggleStatus(uid);
              }}
            >
              {isActive ? 'Deactivate' : 'Activate'}
            </ActButton>
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
            <PageLink key="" to={`endpoints/${endpoint.uid}`}>
              {endpoint.name}
            </PageLink>
          ),
        ],
        [
          'Source',
          source === null ? (
            'any'
          ) : (
            <PageLink key="" to={`sources/${source.uid}`}>
              {source.name}
            </PageLink>
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
          <PageLink key="" to="deliveries" filters={{ subscription: uid }}>
            Show
          </PageLink>,
        ],
        ['Created', <Time key="" at={subscription.created_at} />],
        ['ID', <Id key="" value={uid} what="subscription id" />],
      ]}
    />
  );
}
