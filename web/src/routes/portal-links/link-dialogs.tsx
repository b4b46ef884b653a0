import { useQueryClient } from '@tanstack/react-query';
import type { PortalLink } from 'posthorn-client';
import { errorText } from '../../data/explain-error.ts';
import { useProject } from '../../data/project.ts';
import { DangerDialog } from '../../parts/danger-dialog.tsx';
import { FormDialog } from '../../ui/controls/dialog.tsx';
import { Check, TextField } from '../../ui/controls/fields.tsx';
import { formText } from '../../ui/controls/form-text.ts';

export function AddLink({ onClose }: { onClose(): void }) {
  const { api } = useProject();
  const queries = useQueryClient();
  const add = async (form: FormData) => {
    await api.portalLinks.create({
      name: formText(form, 'name'),
      owner_id: formText(form, 'customer'),
      can_manage_endpoint: form.get('manage') !== null,
      can_create_events: form.get('send') !== null,
    });
    await queries.invalidateQueries();
  };
  return (
    <FormDialog
      title="Add portal link"
      action="Add portal link"
      onClose={onClose}
      onSubmit={add}
      explain={errorText}
    >
      <TextField
        label="Customer"
        name="customer"
        required
        hint="The link shows the endpoints of this customer."
      />
      <TextField label="Name" name="name" required />
      <Check label="May change endpoints and subscriptions, and see secrets" name="manage" />
      <Check label="May send events to their own endpoints" name="send" />
    </FormDialog>
  );
}

export function RevokeLink({ link, onClose }: { link: PortalLink; onClose(): void }) {
  const { api } = useProject();
  return (
    <DangerDialog what={`Revoke ${link.name}`} act={() => api.portalLinks.revoke(link.uid)} onClose={onClose}>
      The link and its tokens stop working at once. The endpoints of {link.owner_id} stay.
    </DangerDialog>
  );
}
