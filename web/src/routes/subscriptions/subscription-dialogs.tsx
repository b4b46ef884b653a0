import type { Subscription } from 'posthorn-client';
import { useProject } from '../../data/project.ts';
import { ActDialog, DangerDialog } from '../../parts/act-dialog.tsx';
import { SelectField, TextField } from '../../ui/controls/fields.tsx';
import { formText } from '../../ui/controls/form-text.ts';
import { typesOf } from './add-subscription.tsx';

interface Props {
  subscription: Subscription;
  onClose(): void;
}

export function EditSubscription({ subscription, onClose }: Props) {
  const { api } = useProject();
  const { retry_config: retry, rate_limit_config: rate, filter_config } = subscription;
  const save = async (form: FormData) => {
    const number = (name: string): number => Number(formText(form, name));
    const type = formText(form, 'strategy') as 'linear' | 'exponential' | '';
    await api.subscriptions.update(subscription.uid, {
      name: formText(form, 'name'),
      filter_config: { event_types: typesOf(formText(form, 'types')) },
      rate_limit_config: { count: number('count'), duration: number('seconds') },
      ...(type === ''
        ? {}
        : { retry_config: { type, interval_seconds: number('interval'), retry_count: number('retries') } }),
    });
  };
  return (
    <ActDialog
      title={`Edit ${subscription.name}`}
      action="Save subscription"
      onClose={onClose}
      onSubmit={save}
    >
      <TextField label="Name" name="name" required defaultValue={subscription.name} />
      <TextField
        label="Event types"
        name="types"
        defaultValue={filter_config.event_types.join(', ')}
        hint="Separated by commas. Empty: every type."
      />
      <div className="grid gap-4 sm:grid-cols-2">
        <TextField
          label="Deliveries"
          name="count"
          type="number"
          min="0"
          defaultValue={rate?.count ?? 0}
          hint="0: no rate limit."
        />
        <TextField
          label="in seconds"
          name="seconds"
          type="number"
          min="0"
          defaultValue={rate?.duration ?? 0}
        />
      </div>
      <div className="grid gap-4 sm:grid-cols-3">
        <SelectField
          label="Retries"
          name="strategy"
          defaultValue={retry?.type ?? ''}
          choices={[
            ['', 'As the project'],
            ['linear', 'Linear'],
            ['exponential', 'Exponential'],
          ]}
        />
        <TextField
          label="How many"
          name="retries"
          type="number"
          min="0"
          defaultValue={retry?.retry_count ?? 10}
        />
        <TextField
          label="Seconds between"
          name="interval"
          type="number"
          min="1"
          defaultValue={retry?.duration ?? 100}
        />
      </div>
    </ActDialog>
  );
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
      New events no longer go through it. Deliveries of the past stay.
    </DangerDialog>
  );
}
