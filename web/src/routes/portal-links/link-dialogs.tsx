import type { PortalLink } from 'posthorn-client';
import { useProject } from '../../data/project.ts';
import { ActDialog, DangerDialog } from '../../parts/act-dialog.tsx';
import { Check, TextField } from '../../ui/controls/fields.tsx';
import { formText } from '../../ui/controls/form-text.ts';

export function AddLink({ onClose }: { onClose(): void }) {
  const { api } = useProject();
  const add = async (form: FormData) => {
    await api.portalLinks.create({
      name: formText(form, 'name'),
      owner_id: formText(form, 'customer'),
      can_manage_endpoint: form.get('manage') !== null,
      can_retry: form.get('retry') !== null,
      can_see_secrets: form.get('secrets') !== null,
      can_edit_functions: form.get('functions') !== null,
      can_create_events: form.get('send') !== null,
    });
  };
  return (
    <ActDialog title="Add portal link" action="Add portal link" onClose={onClose} onSubmit={add}>
      <TextField
        label="Customer"
        name="customer"
        required
        hint="The link shows the endpoints of this customer."
      />
      <TextField label="Name" name="name" required />
      <fieldset className="grid gap-2">
        <legend className="mb-1 font-semibold">The holder may look, and</legend>
        <Check label="Retry, and send test events" name="retry" defaultChecked />
        <Check label="Change endpoints and subscriptions" name="manage" />
        <Check label="See secrets and credentials" name="secrets" />
        <Check label="Change functions" name="functions" hint="Only together with changing subscriptions." />
        <Check label="Send new events to their own endpoints" name="send" />
      </fieldset>
    </ActDialog>
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
