import type { Subscription, UpdateSubscription } from 'posthorn-client';
import { RetryFields, retriesOf } from '../../dashboard/retry-policy.tsx';
import { useEndpointChoices, useSourceChoices } from '../../data/choices.ts';
import { subscriptionForm } from '../../data/form-fields.ts';
import { useProject } from '../../data/project.ts';
import { ActDialog, DangerDialog } from '../../parts/act-dialog.tsx';
import { formValues, ResourceField } from '../../parts/resource-field.tsx';
import { Fold, SelectField, TextField } from '../../ui/controls/fields.tsx';
import { formList, formText } from '../../ui/controls/form-text.ts';
import { useGo } from '../../ui/text/link.tsx';
import { conditionsOf } from './filter-text.ts';

interface Props {
  subscription: Subscription;
  onClose(): void;
}

const MODES = {
  at_least_once: 'At least once: repeat what may not have arrived',
  at_most_once: 'At most once: never repeat what may have arrived',
};

export function AddSubscription({ onClose }: { onClose(): void }) {
  const { api, at } = useProject();
  const go = useGo();
  const { endpoints } = useEndpointChoices();
  const add = async (form: FormData) => {
    const name = formText(form, 'name');
    const made = await api.subscriptions.create({ ...changeOf(form), name });
    go(at(`subscriptions/${made.uid}`));
  };
  return (
    <ActDialog title="Add subscription" action="Add subscription" onClose={onClose} onSubmit={add}>
      <ResourceField form={subscriptionForm} name="name" required />
      <SelectField
        label="Endpoint"
        name="endpoint_id"
        choices={endpoints.map(({ uid, name }) => [uid, name] as const)}
        required
      />
      <Fields />
    </ActDialog>
  );
}

export function EditSubscription({ subscription, onClose }: Props) {
  const { api } = useProject();
  return (
    <ActDialog
      title={`Edit ${subscription.name}`}
      action="Save subscription"
      onClose={onClose}
      onSubmit={(form) => api.subscriptions.update(subscription.uid, changeOf(form, subscription))}
    >
      <ResourceField form={subscriptionForm} of={subscription} name="name" required />
      <Fields stored={subscription} />
    </ActDialog>
  );
}

/** The fields of a new subscription and of one that is stored. */
function Fields({ stored }: { stored?: Subscription }) {
  const {
    source_metadata: source = null,
    rate_limit_config: rate,
    alert_config: alert,
    ordering,
    batch,
  } = stored ?? {};
  const { sources } = useSourceChoices();
  const known =
    source === null || sources.some(({ uid }) => uid === source.uid) ? sources : [source, ...sources];
  return (
    <>
      <SelectField
        label="Source"
        name="source_id"
        // The choices come later than the form.
        key={known.length}
        defaultValue={source?.uid ?? ''}
        choices={[['', 'Any origin'], ...known.map(({ uid, name }) => [uid, name] as const)]}
        hint="With a source, only its events. Any origin: events of the API and of every source."
      />
      <TextField
        label="Event types"
        name="types"
        placeholder="invoice.paid, customer.*"
        defaultValue={stored?.filter_config.event_types.join(', ')}
        hint="Optional. Separated by commas. Defaults to every type."
      />
      <Fold title="Retries, rate limit, alerts, order and batches" open={stored !== undefined}>
        <RetryFields own={stored?.retry_config} />
        <ResourceField
          form={subscriptionForm}
          of={stored ?? { delivery_mode: 'at_least_once' }}
          name="delivery_mode"
          words={MODES}
        />
        <ResourceField
          form={subscriptionForm}
          of={stored ?? { ttl_seconds: 0 }}
          name="ttl_seconds"
          hint="In seconds. A delivery that was not made by then is discarded. 0 for never."
        />
        <Pair
          first={['Rate limit (deliveries)', 'rate_limit_config.count', rate?.count, '0 for no rate limit.']}
          second={['Interval (s)', 'rate_limit_config.duration', rate?.duration ?? 0]}
        />
        <Pair
          first={['Failed attempts', 'alert_config.count', alert?.count, '0 for no alert.']}
          second={['within', 'alert_config.threshold', alert?.threshold ?? '', 'Such as 30s or 1h.']}
        />
        <div className="grid gap-4 sm:grid-cols-2">
          <TextField
            label="Order by key"
            name="ordering.key"
            placeholder="$.body.account.id"
            defaultValue={ordering?.key}
            hint="Optional. Also $.headers.X-Account, or endpoint for all its deliveries."
          />
          <SelectField
            label="After a failure"
            name="ordering.on_failure"
            defaultValue={ordering?.on_failure ?? 'hold'}
            choices={[
              ['hold', 'Hold the key'],
              ['skip', 'Go on with the next'],
            ]}
          />
        </div>
        <BatchFields batch={batch} />
      </Fold>
    </>
  );
}

function BatchFields({ batch }: { batch: Subscription['batch'] | undefined }) {
  return (
    <>
      <Pair
        first={['Batches of (deliveries)', 'batch.max', batch?.max, '0 for one request per delivery.']}
        second={['Longest wait (s)', 'batch.max_wait_seconds', batch?.max_wait_seconds ?? 5]}
      />
      <TextField
        label="Bytes of a batch"
        name="batch.max_bytes"
        type="number"
        min="1"
        defaultValue={batch?.max_bytes ?? 1_000_000}
        hint="A batch is sent when it has that many, too."
      />
    </>
  );
}

type Part = [label: string, name: string, value: string | number | undefined, hint?: string];

/** A count and the time in which it counts. */
function Pair({ first: [label, name, count = 0, note], second }: { first: Part; second: Part }) {
  const [timeLabel, timeName, time, hint] = second;
  return (
    <div className="grid gap-4 sm:grid-cols-2">
      <TextField label={label} name={name} type="number" min="0" defaultValue={count} hint={note} />
      <TextField
        label={timeLabel}
        name={timeName}
        {...(typeof time === 'number' && { type: 'number', min: '0' })}
        defaultValue={time}
        hint={hint}
      />
    </div>
  );
}

/** The change, from the fields of the form. An empty object removes a setting. */
function changeOf(form: FormData, stored?: Subscription): UpdateSubscription {
  const number = (name: string): number => Number(formText(form, name));
  const rate = { count: number('rate_limit_config.count'), duration: number('rate_limit_config.duration') };
  const alert = { count: number('alert_config.count'), threshold: formText(form, 'alert_config.threshold') };
  return {
    ...formValues(subscriptionForm, form),
    filter_config: {
      event_types: formList(form, 'types'),
      // An update replaces the whole filter, so its conditions go along.
      ...(stored && { filter: conditionsOf(stored) }),
    },
    rate_limit_config: rate.count === 0 ? {} : rate,
    alert_config: alert.count === 0 ? {} : alert,
    ordering: orderingOf(form),
    batch: number('batch.max') === 0 ? {} : batchOf(number),
    ...retriesOf(form),
  };
}

function batchOf(number: (name: string) => number): NonNullable<UpdateSubscription['batch']> {
  return {
    max: number('batch.max'),
    max_bytes: number('batch.max_bytes'),
    max_wait_seconds: number('batch.max_wait_seconds'),
  };
}

function orderingOf(form: FormData): NonNullable<UpdateSubscription['ordering']> {
  const key = formText(form, 'ordering.key').trim();
  if (key === '') return {};
  return { key, on_failure: formText(form, 'ordering.on_failure') === 'skip' ? 'skip' : 'hold' };
}

export function DeleteSubscription({ subscription, onClose }: Props) {
  const { api, at } = useProject();
  return (
    <DangerDialog
      what={`Delete ${subscription.name}`}
      act={() => api.subscriptions.delete(subscription.uid)}
      leadsTo={at('subscriptions')}
      onClose={onClose}
    >
      New events no longer go through it. Past deliveries stay.
    </DangerDialog>
  );
}
