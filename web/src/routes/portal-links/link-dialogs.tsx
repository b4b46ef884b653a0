import type { CreatePortalLink, PortalLink } from 'posthorn-client';
import { editedOf } from '../../data/edit/save-change.ts';
import { localTime } from '../../data/endpoint-status.ts';
import { portalLinkForm } from '../../data/form-fields.ts';
import { useProject } from '../../data/project.ts';
import { ActDialog, DangerDialog } from '../../parts/act-dialog.tsx';
import { EditDialog } from '../../parts/forms/edit-dialog.tsx';
import { useAsOpened } from '../../parts/forms/save.ts';
import { formValues, ResourceField } from '../../parts/resource-field.tsx';
import { Fold } from '../../ui/controls/fields.tsx';
import { formText } from '../../ui/controls/form-text.ts';

const TOKENS = {
  static_token: 'In the link: it works as long as the link',
  refresh_token: 'Made by your server, for an hour each',
};

interface Props {
  onClose(): void;
}

export function AddLink({ onClose }: Props) {
  const { portalLinks } = useProject().api;
  const what = 'Add portal link';
  const add = (form: FormData) => portalLinks.create(linkOf(form));
  return (
    <ActDialog title={what} action={what} onClose={onClose} onSubmit={add}>
      <Fields of={NEW} />
    </ActDialog>
  );
}

export function EditLink({ link: given, onClose }: Props & { link: PortalLink }) {
  const { api } = useProject();
  const link = useAsOpened(given);
  return (
    <EditDialog
      title={`Edit ${link.name}`}
      action="Save portal link"
      onClose={onClose}
      edited={editedOf(api, api.portalLinks, link)}
      changeOf={(form, stored) => linkOf(form, stored)}
    >
      <Fields of={shown(link)} isStored />
    </EditDialog>
  );
}

/** The fields of the form. A right that is not set is as can_manage_endpoint, and stays so while both stay as they are. */
function linkOf(form: FormData, stored?: PortalLink): CreatePortalLink {
  const expires = formText(form, 'expires_at');
  const values = formValues(portalLinkForm, form);
  for (const right of ['can_see_secrets', 'can_edit_functions'] as const) {
    const isUnset = stored !== undefined && (stored[right] ?? null) === null;
    const isSame = [right, 'can_manage_endpoint'].every(
      (name) => values[name] === stored?.can_manage_endpoint,
    );
    if (isUnset && isSame) delete values[right];
  }
  return { ...values, expires_at: expires === '' ? null : new Date(expires) } as CreatePortalLink;
}

function Fields({ of, isStored = false }: { of: object; isStored?: boolean }) {
  const field = { form: portalLinkForm, of };
  return (
    <>
      <ResourceField
        {...field}
        name="owner_id"
        required
        hint="The link shows the endpoints of this customer."
      />
      <ResourceField {...field} name="name" required />
      <fieldset className="grid gap-2">
        <legend className="mb-1 font-semibold">The holder may look, and</legend>
        <ResourceField {...field} name="can_retry" />
        <ResourceField {...field} name="can_manage_endpoint" />
        <ResourceField {...field} name="can_see_secrets" />
        <ResourceField
          {...field}
          name="can_edit_functions"
          hint="Only together with changing subscriptions."
        />
        <ResourceField {...field} name="can_create_events" />
        <ResourceField {...field} name="can_use_brokers" hint="Only where the project allows it." />
      </fieldset>
      <Fold title="Event types, token and expiry" open={isStored}>
        <ResourceField
          {...field}
          name="event_types"
          placeholder="invoice.paid, customer.*"
          hint="The holder sees only these. Separated by commas. Empty: every type."
        />
        <ResourceField {...field} name="auth_type" words={TOKENS} />
        <ResourceField {...field} name="expires_at" type="datetime-local" hint="Empty: never." />
      </Fold>
    </>
  );
}

const NEW = { can_retry: true, auth_type: 'static_token' };

/** The link as the form shows it: a right that is not set is as can_manage_endpoint, and times are local. */
function shown(link: PortalLink): object {
  const { can_manage_endpoint: manage } = link;
  return {
    ...link,
    can_see_secrets: link.can_see_secrets ?? manage,
    can_edit_functions: link.can_edit_functions ?? manage,
    expires_at: localTime(link.expires_at),
  };
}

export function RevokeLink({ link, onClose }: Props & { link: PortalLink }) {
  const { api } = useProject();
  return (
    <DangerDialog what={`Revoke ${link.name}`} act={() => api.portalLinks.revoke(link.uid)} onClose={onClose}>
      The link and its tokens stop working at once. The endpoints of {link.owner_id} stay.
    </DangerDialog>
  );
}
