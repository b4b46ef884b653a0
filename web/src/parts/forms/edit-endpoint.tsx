import type { Endpoint, UpdateEndpoint } from 'posthorn-client';
import type { ReactNode } from 'react';
import { editedOf } from '../../data/edit/save-change.ts';
import { endpointForm } from '../../data/form-fields.ts';
import { ResourceField } from '../resource-field.tsx';
import { useSite } from '../site.ts';
import { useWords } from '../words.ts';
import { EditDialog } from './edit-dialog.tsx';

export interface EndpointDialog {
  endpoint: Endpoint;
  onClose(): void;
}

interface Props extends EndpointDialog {
  /** The change, from all fields of the form. */
  changeOf(form: FormData, stored: Endpoint): UpdateEndpoint;
  /** A field before the address, and further ones at the end. */
  before?: ReactNode;
  isPull?: boolean;
  /** It has no URL: it sends to a broker. */
  isBroker?: boolean;
  children: ReactNode;
}

/** One field of the form sets several of these. */
const LABELS = {
  cloudevents: 'CloudEvents',
  envelope: 'Envelope',
  envelope_fields: 'Envelope',
  signing_key: 'Ed25519',
};

/** The form of an endpoint: what every page can change, and the fields of the page. */
export function EditEndpoint({ endpoint, onClose, changeOf, before, children, ...kind }: Props) {
  const { endpoints: t } = useWords();
  const { api } = useSite();
  return (
    <EditDialog
      title={t.editTitle(endpoint.name)}
      action={t.save}
      onClose={onClose}
      edited={editedOf(api, api.endpoints, endpoint)}
      changeOf={changeOf}
      labels={LABELS}
    >
      {before}
      <AddressAndName {...kind} of={endpoint} />
      <ResourceField form={endpointForm} of={endpoint} name="support_email" type="email" />
      {children}
    </EditDialog>
  );
}

interface Basics {
  isPull?: boolean | undefined;
  isBroker?: boolean | undefined;
  of?: Endpoint;
}

/** The address and the name. An endpoint that fetches its deliveries needs no address, and then a name. */
export function AddressAndName({ isPull = false, isBroker = false, of }: Basics) {
  const { endpoints: t } = useWords();
  const field = { form: endpointForm, ...(of && { of }) };
  const isNew = of === undefined;
  return (
    <>
      {!isBroker && (
        <ResourceField
          {...field}
          {...(isNew && { 'data-first': '' })}
          name="url"
          type="url"
          required={!isPull}
          placeholder={isPull ? '' : 'https://example.com/webhooks'}
          hint={isPull ? t.notCalled : undefined}
        />
      )}
      <ResourceField
        {...field}
        name="name"
        required={isPull || isBroker || !isNew}
        hint={isNew && !isPull && !isBroker ? t.nameHint : undefined}
      />
    </>
  );
}
