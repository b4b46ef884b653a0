import { useQuery } from '@tanstack/react-query';
import { useProject } from '../../data/project.ts';
import { ActDialog } from '../../parts/act-dialog.tsx';
import { SelectField, TextField } from '../../ui/controls/fields.tsx';
import { formText } from '../../ui/controls/form-text.ts';
import { useGo } from '../../ui/text/link.tsx';

export const typesOf = (text: string): string[] => {
  const types = text.split(/[\s,]+/).filter((type) => type !== '');
  return types.length === 0 ? ['*'] : types;
};

export function AddSubscription({ onClose }: { onClose(): void }) {
  const { api, id, at } = useProject();
  const go = useGo();
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
    go(at(`subscriptions/${made.uid}`));
  };
  const choices = endpoints.data?.content.map(({ uid, name }) => [uid, name] as const) ?? [];
  return (
    <ActDialog title="Add subscription" action="Add subscription" onClose={onClose} onSubmit={add}>
      <TextField label="Name" name="name" required />
      <SelectField label="Endpoint" name="endpoint" choices={choices} required />
      <TextField
        label="Event types"
        name="types"
        placeholder="invoice.paid, customer.*"
        hint="Separated by commas. Empty: every type."
      />
    </ActDialog>
  );
}
