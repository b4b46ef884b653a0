import type { Endpoint } from 'posthorn-client';
import { useState } from 'react';
import { endpointForm } from '../../data/form-fields.ts';
import { useProject } from '../../data/project.ts';
import { ActDialog, DangerDialog } from '../../parts/act-dialog.tsx';
import { formValues, OtherFields, ResourceField } from '../../parts/resource-field.tsx';
import { AlertFields, chatsOf } from './alert-fields.tsx';
import { CertificateFields, certificateOf } from './certificate-fields.tsx';
import { type Delivery, DeliveryFields } from './delivery-fields.tsx';
import { RequestFields, signingKeyOf } from './request-fields.tsx';
import { SignInFields, signInOf } from './sign-in-fields.tsx';

interface Props {
  endpoint: Endpoint;
  onClose(): void;
}

/** The form places these itself. The others follow at its end. */
const PLACED: (keyof typeof endpointForm)[] = [
  'delivery',
  'url',
  'name',
  'description',
  'content_type',
  'advanced_signatures',
  'owner_id',
  'support_email',
  'rate_limit',
  'rate_limit_duration',
  'http_timeout',
];

export function EditEndpoint({ endpoint, onClose }: Props) {
  const { api } = useProject();
  const field = { form: endpointForm, of: endpoint };
  const [delivery, setDelivery] = useState<Delivery>(endpoint.delivery);
  const save = (form: FormData) =>
    api.endpoints.update(endpoint.uid, {
      ...formValues(endpointForm, form),
      ...chatsOf(form),
      ...signingKeyOf(form),
      ...(delivery === 'push' && {
        ...signInOf(form, endpoint.authentication),
        ...certificateOf(form, endpoint.mtls_client_cert),
      }),
    });
  return (
    <ActDialog title={`Edit ${endpoint.name}`} action="Save endpoint" onClose={onClose} onSubmit={save}>
      <DeliveryFields value={delivery} onChange={setDelivery} url={endpoint.url} />
      <ResourceField {...field} name="name" required />
      <ResourceField {...field} name="description" />
      {delivery === 'push' && (
        <>
          <SignInFields authentication={endpoint.authentication} />
          <CertificateFields stored={endpoint.mtls_client_cert} />
        </>
      )}
      <RequestFields endpoint={endpoint} />
      <ResourceField {...field} name="owner_id" />
      <AlertFields endpoint={endpoint} />
      <div className="grid gap-4 sm:grid-cols-3">
        <ResourceField {...field} name="rate_limit" hint="0: no rate limit." />
        <ResourceField {...field} name="rate_limit_duration" />
        <ResourceField {...field} name="http_timeout" hint="0: the default." />
      </div>
      <OtherFields {...field} placed={PLACED} />
    </ActDialog>
  );
}

export function DeleteEndpoint({ endpoint, onClose }: Props) {
  const { api, at } = useProject();
  return (
    <DangerDialog
      what={`Delete ${endpoint.name}`}
      act={() => api.endpoints.delete(endpoint.uid)}
      leadsTo={at('endpoints')}
      onClose={onClose}
    >
      Its subscriptions are deleted too, and its open deliveries are discarded. Deliveries of the past stay.
    </DangerDialog>
  );
}
