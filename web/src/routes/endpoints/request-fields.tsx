import type { Endpoint, UpdateEndpoint } from 'posthorn-client';
import { endpointForm } from '../../data/form-fields.ts';
import { ResourceField } from '../../parts/resource-field.tsx';
import { Check, Fold } from '../../ui/controls/fields.tsx';

const ENVELOPES = {
  project: 'As the project',
  none: 'The payload alone',
  standard: 'type, timestamp and data',
};
const IDS = { delivery: 'Id of the delivery', event: 'Id of the event' };
const BODIES = { 'application/json': 'JSON', 'application/x-www-form-urlencoded': 'Form fields' };

const CLOUD = { '': 'As the event came', binary: 'Binary', structured: 'Structured' };

type Requests = Pick<
  Endpoint,
  'content_type' | 'cloudevents' | 'advanced_signatures' | 'signing_key' | 'envelope' | 'webhook_id'
>;

/** The form of the body and its signatures. */
export function RequestFields({ endpoint }: { endpoint: Requests }) {
  return (
    <Fold title="Body and signatures">
      <ResourceField form={endpointForm} of={endpoint} name="content_type" words={BODIES} />
      <ResourceField form={endpointForm} of={endpoint} name="cloudevents" words={CLOUD} />
      <ResourceField form={endpointForm} of={endpoint} name="envelope" words={ENVELOPES} />
      <ResourceField
        form={endpointForm}
        of={endpoint}
        name="webhook_id"
        words={IDS}
        hint="With the id of the event, no two subscriptions may match the same event."
      />
      <ResourceField
        form={endpointForm}
        of={endpoint}
        name="advanced_signatures"
        hint="With it a receiver can refuse an old request that is sent again."
      />
      <Check
        label="Add an Ed25519 signature"
        name="ed25519"
        defaultChecked={endpoint.signing_key !== null}
        hint="Receivers check it with a public key, which the endpoint's page shows. Unticked, the key pair is removed."
      />
    </Fold>
  );
}

/** The key pair, from the fields of the form. */
export function signingKeyOf(form: FormData): Partial<UpdateEndpoint> {
  return { signing_key: { type: form.has('ed25519') ? 'ed25519' : '' } };
}
