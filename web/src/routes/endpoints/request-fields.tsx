import type { Endpoint, UpdateEndpoint } from 'posthorn-client';
import { endpointForm } from '../../data/form-fields.ts';
import { ResourceField } from '../../parts/resource-field.tsx';
import { Check, type Choice, Fold, SelectField } from '../../ui/controls/fields.tsx';
import { formText } from '../../ui/controls/form-text.ts';

const IDS = { delivery: 'Id of the delivery', event: 'Id of the event' };
const BODIES = { 'application/json': 'JSON', 'application/x-www-form-urlencoded': 'Form fields' };

const CLOUD_EVENTS: readonly Choice[] = [
  ['binary', 'CloudEvents: binary'],
  ['structured', 'CloudEvents: structured'],
];
const ENVELOPES: readonly Choice[] = [
  ['project', 'As the project'],
  ['none', 'The payload alone'],
  ['standard', 'type, timestamp and data'],
];
/** The API sets an envelope with other names. The form keeps it. */
const OWN: Choice = ['own', 'An envelope with names of its own'];

type Format = Pick<Endpoint, 'cloudevents' | 'envelope' | 'envelope_fields'>;

const hasOwn = ({ envelope_fields }: Format): boolean => Object.keys(envelope_fields).length > 0;

/** CloudEvents have no envelope, and names of its own come before the other envelopes. */
const formatOf = (of: Format): string => of.cloudevents || (hasOwn(of) ? 'own' : of.envelope);

/** The form of the body and its signatures. */
export function RequestFields({ endpoint }: { endpoint: Endpoint }) {
  const field = { form: endpointForm, of: endpoint };
  return (
    <Fold title="Body and signatures">
      <ResourceField {...field} name="content_type" words={BODIES} />
      <SelectField
        label="Format"
        name="format"
        defaultValue={formatOf(endpoint)}
        choices={[...ENVELOPES, ...(hasOwn(endpoint) ? [OWN] : []), ...CLOUD_EVENTS]}
      />
      <ResourceField
        {...field}
        name="webhook_id"
        words={IDS}
        hint="With the id of the event, no two subscriptions may match the same event."
      />
      <ResourceField
        {...field}
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

/** The format and the key pair, from the fields of the form. A format that stays changes nothing. */
export function requestsOf(form: FormData, stored: Endpoint): Partial<UpdateEndpoint> {
  const signing_key = { type: form.has('ed25519') ? ('ed25519' as const) : ('' as const) };
  const format = formText(form, 'format');
  if (format === formatOf(stored)) return { signing_key };
  if (format === 'binary' || format === 'structured') return { signing_key, cloudevents: format };
  if (format === 'own') return { signing_key, cloudevents: '' };
  const envelope = format as Endpoint['envelope'];
  return { signing_key, cloudevents: '', envelope, envelope_fields: {} };
}
