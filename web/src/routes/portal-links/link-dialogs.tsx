import type { CreatePortalLink, PortalLink } from 'posthorn-client';
import { localTime } from '../../data/endpoint-status.ts';
import { portalLinkForm } from '../../data/form-fields.ts';
import { useProject } from '../../data/project.ts';
import { ActDialog, DangerDialog } from '../../parts/act-dialog.tsx';
import { formValues, ResourceField } from '../../parts/resource-field.tsx';
import { Fold } from '../../ui/controls/fields.tsx';
import { formText } from '../../ui/controls/form-text.ts';

const TOKENS = {
  static_token: 'In the link: it works as long as the link',
  refresh_token: 'Made by your server, for an hour each',
};

/** A new link, or one that is stored. */
export function LinkDialog({ link, onClose }: { link?: PortalLink; onClose(): void }) {
  const { portalLinks } = useProject().api;
  const what = link === undefined ? 'Add portal link' : 'Save portal link';
  const field = { form: portalLinkForm, of: link === undefined ? NEW : shown(link) };
  const save = (form: FormData) => {
    const expires = formText(form, 'expires_at');
    const values = {
      ...formValues(portalLinkForm, form),
      expires_at: expires === '' ? null : new Date(expires),
    } as CreatePortalLink;
    return link === undefined ? portalLinks.create(values) : portalLinks.update(link.uid, values);
  };
  return (
    <ActDialog
      title={link === undefined ? what : `Edit ${link.name}`}
      action={what}
      onClose={onClose}
      onSubmit={save}
    >
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
      <Fold title="Event types, token and expiry" open={link !== undefined}>
        <ResourceField
          {...field}
          name="event_types"
          placeholder="invoice.paid, customer.*"
          hint="The holder sees only these. Separated by commas. Empty: every type."
        />
        <ResourceField {...field} name="auth_type" words={TOKENS} />
        <ResourceField {...field} name="expires_at" type="datetime-local" hint="Empty: never." />
      </Fold>
    </ActDialog>
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

export function RevokeLink({ link, onClose }: { link: PortalLink; onClose(): void }) {
  const { api } = useProject();
  return (
    <DangerDialog what={`Revoke ${link.name}`} act={() => api.portalLinks.revoke(link.uid)} onClose={onClose}>
      The link and its tokens stop working at once. The endpoints of {link.owner_id} stay.
    </DangerDialog>
  );
}
