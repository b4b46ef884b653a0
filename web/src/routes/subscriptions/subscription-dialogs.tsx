import type { Subscription, UpdateSubscription } from 'posthorn-client';
import { RetryFields, retriesOf } from '../../dashboard/retry-policy.tsx';
import { useEndpointChoices, useSourceChoices } from '../../data/choices.ts';
import { editedSubscription } from '../../data/edit/edited-subscription.ts';
import { subscriptionForm } from '../../data/form-fields.ts';
import { useProject } from '../../data/project.ts';
import { ActDialog, DangerDialog } from '../../parts/act-dialog.tsx';
import { EditDialog } from '../../parts/forms/edit-dialog.tsx';
import { useAsOpened } from '../../parts/forms/save.ts';
import { type Form, FormFields, formValues, ResourceField } from '../../parts/resource-field.tsx';
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

/** Settings that a subscription need not have. The first field of each says whether it has them. */
const LIMITS = ['rate_limit_config', 'alert_config', 'ordering', 'batch'] as const;

const limitForm = (group: string): Form =>
  Object.fromEntries(Object.entries(subscriptionForm).filter(([name]) => name.startsWith(`${group}.`)));

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

export function EditSubscription({ subscription: given, onClose }: Props) {
  const { api } = useProject();
  const subscription = useAsOpened(given);
  return (
    <EditDialog
      title={`Edit ${subscription.name}`}
      action="Save subscription"
      onClose={onClose}
      edited={editedSubscription(api, subscription)}
      changeOf={(form, stored) => changeOf(form, stored)}
      labels={{ filter_config: 'Event types' }}
    >
      <ResourceField form={subscriptionForm} of={subscription} name="name" required />
      <Fields stored={subscription} />
    </EditDialog>
  );
}

/** The fields of a new subscription and of one that is stored. */
function Fields({ stored }: { stored?: Subscription }) {
  const { source_metadata: source = null } = stored ?? {};
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
        {LIMITS.map((group) => (
          <FormFields key={group} form={limitForm(group)} of={stored} />
        ))}
      </Fold>
    </>
  );
}

/** The change, from the fields of the form. An empty object removes a setting. */
function changeOf(form: FormData, stored?: Subscription): UpdateSubscription {
  const values = formValues(subscriptionForm, form) as Record<string, object>;
  const limits = LIMITS.map((group) => {
    const [first] = Object.values(values[group] ?? {});
    return [group, first ? values[group] : {}];
  });
  return {
    ...values,
    filter_config: {
      event_types: formList(form, 'types'),
      // An update replaces the whole filter, so its conditions go along.
      ...(stored && { filter: conditionsOf(stored) }),
    },
    ...Object.fromEntries(limits),
    ...retriesOf(form),
  };
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
