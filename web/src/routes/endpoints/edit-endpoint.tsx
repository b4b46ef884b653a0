import type { Endpoint } from 'posthorn-client';
import { useState } from 'react';
import { useClouds } from '../../data/choices.ts';
import { localTime } from '../../data/endpoint-status.ts';
import { endpointForm } from '../../data/form-fields.ts';
import { BrokerFields, brokerOf } from '../../parts/brokers/broker-fields.tsx';
import { EditEndpoint as EditAnyEndpoint, type EndpointDialog } from '../../parts/forms/edit-endpoint.tsx';
import { useAsOpened } from '../../parts/forms/save.ts';
import {
  type Form,
  FormFields,
  formValues,
  OtherFields,
  ResourceField,
} from '../../parts/resource-field.tsx';
import { Fold } from '../../ui/controls/fields.tsx';
import { formText } from '../../ui/controls/form-text.ts';
import { CertificateFields, certificateOf } from './certificate-fields.tsx';
import { HeaderFields, MetadataField, pairsOf } from './pair-fields.tsx';
import { RequestFields, requestsOf } from './request-fields.tsx';
import { SignInFields, signInOf } from './sign-in-fields.tsx';

/** The form places these itself. The others follow at its end. */
const PLACED: (keyof typeof endpointForm)[] = [
  'delivery',
  'url',
  'name',
  'description',
  'content_type',
  'cloudevents',
  'advanced_signatures',
  'owner_id',
  'support_email',
  'rate_limit',
  'rate_limit_duration',
  'http_timeout',
  'final_status_codes',
  'user_agent',
  'envelope',
  'webhook_id',
  'expires_at',
  'verification',
];

/** The chats that get the alerts of the endpoint. */
const CHATS: Form = {
  slack_webhook_url: { label: 'Slack webhook', kind: 'text', type: 'url' },
  teams_webhook_url: { label: 'Teams webhook', kind: 'text', type: 'url' },
};

const VERIFICATIONS = { none: 'None', challenge: 'The URL has to echo a challenge first' };

/** Every field of an endpoint. */
export function EditEndpoint({ endpoint: given, onClose }: EndpointDialog) {
  const endpoint = useAsOpened(given);
  const field = { form: endpointForm, of: endpoint };
  const [delivery, setDelivery] = useState(endpoint.delivery);
  const clouds = useClouds();
  const isPull = delivery === 'pull';
  const isBroker = delivery === 'broker';
  const isPush = delivery === 'push';
  return (
    <EditAnyEndpoint
      {...{ endpoint, onClose }}
      isPull={isPull}
      isBroker={isBroker}
      before={
        <>
          <DeliveryField of={endpoint} onDelivery={setDelivery} />
          {isBroker && <BrokerFields stored={endpoint.broker} clouds={clouds} />}
        </>
      }
      changeOf={(form, stored) => ({
        ...formValues(endpointForm, form),
        expires_at: form.get('expires_at') ? new Date(formText(form, 'expires_at')) : null,
        ...formValues(CHATS, form),
        ...requestsOf(form, stored),
        headers: pairsOf(form, 'headers'),
        metadata: pairsOf(form, 'metadata'),
        ...(isBroker && { broker: brokerOf(form, stored.broker) }),
        ...(isPush && {
          ...signInOf(form, stored),
          ...certificateOf(form, stored.mtls_client_cert),
        }),
      })}
    >
      <Fold
        title="Alerts to Slack or Teams"
        open={endpoint.slack_webhook_url + endpoint.teams_webhook_url !== ''}
      >
        <FormFields form={CHATS} of={endpoint} />
      </Fold>
      <ResourceField {...field} name="description" />
      <ResourceField {...field} name="owner_id" />
      <MetadataField endpoint={endpoint} />
      {isPush && (
        <>
          <SignInFields of={endpoint} />
          <CertificateFields stored={endpoint.mtls_client_cert} />
        </>
      )}
      <HeaderFields endpoint={endpoint} />
      <RequestFields endpoint={endpoint} />
      {isPush && <ResourceField {...field} name="user_agent" hint="Empty: that of the project." />}
      <div className="grid gap-4 sm:grid-cols-3">
        <ResourceField {...field} name="rate_limit" hint="0: no rate limit." />
        <ResourceField {...field} name="rate_limit_duration" />
        <ResourceField {...field} name="http_timeout" hint="0: that of the project." />
      </div>
      {isPush && (
        <ResourceField
          {...field}
          name="final_status_codes"
          hint="Answers after which a delivery is not retried. Empty: those of the project."
        />
      )}
      <ResourceField
        form={endpointForm}
        of={{ expires_at: localTime(endpoint.expires_at) }}
        name="expires_at"
        type="datetime-local"
        hint="From then on it is inactive. Empty: never."
      />
      {isPush && <ResourceField {...field} name="verification" words={VERIFICATIONS} />}
      <OtherFields {...field} placed={PLACED} />
    </EditAnyEndpoint>
  );
}

const DELIVERIES = {
  push: 'Push: Posthorn calls an address',
  pull: 'Pull: a consumer fetches them',
  broker: 'Broker: they go to a queue or topic',
};

/** How an endpoint gets its deliveries. */
export const DeliveryField = ({
  of,
  onDelivery,
}: {
  of: object;
  onDelivery(delivery: Endpoint['delivery']): void;
}) => (
  <ResourceField
    form={endpointForm}
    of={of}
    name="delivery"
    words={DELIVERIES}
    onValue={(delivery) => onDelivery(delivery as Endpoint['delivery'])}
  />
);
