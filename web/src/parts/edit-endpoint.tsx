import type { Endpoint, UpdateEndpoint } from 'posthorn-client';
import type { ReactNode } from 'react';
import { endpointForm } from '../data/form-fields.ts';
import { ActDialog } from './act-dialog.tsx';
import { ResourceField } from './resource-field.tsx';
import { useSite } from './site.ts';
import { useWords } from './words.ts';

export interface EndpointDialog {
  endpoint: Endpoint;
  onClose(): void;
}

interface Props extends EndpointDialog {
  /** The change, from all fields of the form. */
  changeOf(form: FormData): UpdateEndpoint;
  /** A field before the address, and further ones at the end. */
  before?: ReactNode;
  isPull?: boolean;
  /** It has no URL: it sends to a broker. */
  isBroker?: boolean;
  children: ReactNode;
}

/** The form of an endpoint: what every page can change, and the fields of the page. */
export function EditEndpoint({ endpoint, onClose, changeOf, before, children, ...kind }: Props) {
  const { endpoints: t } = useWords();
  const { api } = useSite();
  return (
    <ActDialog
      title={t.editTitle(endpoint.name)}
      action={t.save}
      onClose={onClose}
      onSubmit={(form) => api.endpoints.update(endpoint.uid, changeOf(form))}
    >
      {before}
      <AddressAndName {...kind} of={endpoint} />
      <ResourceField form={endpointForm} of={endpoint} name="support_email" type="email" />
      {children}
    </ActDialog>
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
