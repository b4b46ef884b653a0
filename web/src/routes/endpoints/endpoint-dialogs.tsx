import { useQueryClient } from '@tanstack/react-query';
import type { Endpoint } from 'posthorn-client';
import { useState } from 'react';
import { errorText, fieldProblems } from '../../data/explain-error.ts';
import { useProject } from '../../data/project.ts';
import { DangerDialog } from '../../parts/danger-dialog.tsx';
import { FormDialog } from '../../ui/controls/dialog.tsx';
import { SelectField, TextField } from '../../ui/controls/fields.tsx';
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
  const queries = useQueryClient();
  const save = async (form: FormData) => {
    const text = (name: string): string => formText(form, name);
    await api.endpoints.update(endpoint.uid, {
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
    await queries.invalidateQueries();
  };
  return (
    <FormDialog
      title={`Edit ${endpoint.name}`}
      action="Save endpoint"
      onClose={onClose}
      onSubmit={save}
      explain={errorText}
      problems={fieldProblems}
    >
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
    </FormDialog>
  );
}

export function RollSecret({ endpoint, onClose }: Props) {
  const { api } = useProject();
  const queries = useQueryClient();
  const roll = async (form: FormData) => {
    await api.endpoints.expireSecret(endpoint.uid, { expiration: Number(form.get('hours')) * 3600 });
    await queries.invalidateQueries();
  };
  return (
    <FormDialog
      title={`Roll the secret of ${endpoint.name}`}
      action="Roll secret"
      onClose={onClose}
      onSubmit={roll}
      explain={errorText}
    >
      <p>A new secret is made. Until the old one expires every request carries the signatures of both.</p>
      <SelectField
        label="The old secret is valid for"
        name="hours"
        defaultValue="24"
        choices={[
          ['1', '1 hour more'],
          ['24', '1 day more'],
          ['72', '3 days more'],
          ['168', '7 days more'],
        ]}
      />
    </FormDialog>
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
