import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useRouter } from '@tanstack/react-router';
import { errorText } from '../../data/explain-error.ts';
import { useProject } from '../../data/project.ts';
import { FormDialog } from '../../ui/controls/dialog.tsx';
import { SelectField, TextField } from '../../ui/controls/fields.tsx';
import { formText } from '../../ui/controls/form-text.ts';

export const typesOf = (text: string): string[] => {
  const types = text.split(/[\s,]+/).filter((type) => type !== '');
  return types.length === 0 ? ['*'] : types;
};

export function AddSubscription({ onClose }: { onClose(): void }) {
  const { api, id, at } = useProject();
  const queries = useQueryClient();
  const router = useRouter();
  const endpoints = useQuery({
    queryKey: [id, 'endpoint choices'],
    queryFn: () => api.endpoints.list({ perPage: 100 }).page(),
  });
  const add = async (form: FormData) => {
    const made = await api.subscriptions.create({
      name: formText(form, 'name'),
      endpoint_id: formText(form, 'endpoint'),
      filter_config: { event_types: typesOf(formText(form, 'types')) },
    });
    await queries.invalidateQueries();
    router.history.push(at(`subscriptions/${made.uid}`));
  };
  const choices = endpoints.data?.content.map(({ uid, name }) => [uid, name] as const) ?? [];
  return (
    <FormDialog
      title="Add subscription"
      action="Add subscription"
      onClose={onClose}
      onSubmit={add}
      explain={errorText}
    >
      <TextField label="Name" name="name" required />
      <SelectField label="Endpoint" name="endpoint" choices={choices} required />
      <TextField
        label="Event types"
        name="types"
        placeholder="invoice.paid, customer.*"
        hint="Separated by commas. Empty: every type."
      />
    </FormDialog>
  );
}
