import type { Endpoint } from 'posthorn-client';
import { useState } from 'react';
import { useProject } from '../../data/project.ts';
import { ActDialog, DangerDialog } from '../../parts/act-dialog.tsx';
import { TextField } from '../../ui/controls/fields.tsx';
import { formText } from '../../ui/controls/form-text.ts';
import { AlertFields, alertsOf } from './alert-fields.tsx';
import { CertificateFields, certificateOf } from './certificate-fields.tsx';
import { type Delivery, DeliveryFields } from './delivery-fields.tsx';
import { RequestFields, requestsOf } from './request-fields.tsx';
import { SignInFields, signInOf } from './sign-in-fields.tsx';

interface Props {
  endpoint: Endpoint;
  onClose(): void;
}

export function EditEndpoint({ endpoint, onClose }: Props) {
  const { api } = useProject();
  const [delivery, setDelivery] = useState<Delivery>(endpoint.delivery);
  const save = (form: FormData) => {
    const text = (name: string): string => formText(form, name);
    return api.endpoints.update(endpoint.uid, {
      name: text('name'),
      delivery,
      url: text('url'),
      owner_id: text('owner_id'),
      description: text('description'),
      http_timeout: Number(text('http_timeout')),
      rate_limit: Number(text('rate_limit')),
      rate_limit_duration: Number(text('rate_limit_duration')),
      ...alertsOf(form),
      ...requestsOf(form),
      ...(delivery === 'push' && {
        ...signInOf(form, endpoint.authentication),
        ...certificateOf(form, endpoint.mtls_client_cert),
      }),
    });
  };
  return (
    <ActDialog title={`Edit ${endpoint.name}`} action="Save endpoint" onClose={onClose} onSubmit={save}>
      <DeliveryFields value={delivery} onChange={setDelivery} url={endpoint.url} />
      <TextField label="Name" name="name" required defaultValue={endpoint.name} />
      <TextField label="Description" name="description" defaultValue={endpoint.description} />
      {delivery === 'push' && (
        <>
          <SignInFields authentication={endpoint.authentication} />
          <CertificateFields stored={endpoint.mtls_client_cert} />
        </>
      )}
      <RequestFields endpoint={endpoint} />
      <TextField label="Customer" name="owner_id" defaultValue={endpoint.owner_id} />
      <AlertFields endpoint={endpoint} />
      <div className="grid gap-4 sm:grid-cols-3">
        <TextField
          label="Deliveries"
          name="rate_limit"
          type="number"
          min="0"
          defaultValue={endpoint.rate_limit}
          hint="0: no rate limit."
        />
        <TextField
          label="in seconds"
          name="rate_limit_duration"
          type="number"
          min="0"
          defaultValue={endpoint.rate_limit_duration}
        />
        <TextField
          label="Time limit, s"
          name="http_timeout"
          type="number"
          min="0"
          defaultValue={endpoint.http_timeout}
          hint="0: the default."
        />
      </div>
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
