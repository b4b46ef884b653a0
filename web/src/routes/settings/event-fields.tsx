import type { PartialProjectConfig, Project } from 'posthorn-client';
import { Check, SelectField, TextField } from '../../ui/controls/fields.tsx';
import { formList, formText } from '../../ui/controls/form-text.ts';
import { Section } from '../../ui/page/section.tsx';

type Config = Project['config'];

const FLAGS = [
  ['multiple_endpoint_subscriptions', 'An endpoint may have several subscriptions'],
  ['allow_unmatched_dynamic_urls', 'A dynamic event to a new URL makes an endpoint'],
  ['verify_dynamic_events', 'Refuse a dynamic event to a forbidden URL'],
  ['add_event_id_trace_headers', 'Send the ids of event and delivery as X-Convoy headers'],
] as const;

const SCHEMA_CHECKS = [
  ['off', 'Are not checked'],
  ['warn', 'Are accepted, with a warning'],
  ['refuse', 'Are refused'],
] as const;

/** How events come in and what deliveries carry. */
export const EventFields = ({ config }: { config: Config }) => (
  <Section title="Events and headers">
    <div className="grid gap-3">
      {FLAGS.map(([name, label]) => (
        <Check key={name} {...{ name, label }} defaultChecked={config[name]} />
      ))}
      <div className="grid gap-4 sm:grid-cols-3">
        <TextField
          label="Header of the idempotency key"
          name="request_id_header"
          required
          defaultValue={config.request_id_header}
        />
        <TextField
          label="Headers that are no secrets"
          name="visible_headers"
          defaultValue={config.visible_headers.join(', ')}
          hint="Their names look like credentials. Separated by commas."
        />
        <SelectField
          label="JSON bodies of deliveries"
          name="envelope"
          defaultValue={config.envelope}
          choices={[
            ['none', 'The payload alone'],
            ['standard', 'type, timestamp and data'],
          ]}
        />
        <SelectField
          label="Events that do not fit their schema"
          name="schema_check"
          defaultValue={config.schema_check}
          choices={SCHEMA_CHECKS}
          hint="Event types have the schemas."
        />
        <TextField
          label="User agent of deliveries"
          name="user_agent"
          defaultValue={config.user_agent}
          hint="Empty: Posthorn and its version."
        />
        <TextField
          label="Origin of the handshake"
          name="webhook_origin"
          defaultValue={config.webhook_origin}
          hint="New endpoints are asked with OPTIONS whether it may send. Empty: they are not."
        />
        <TextField
          label="A search reaches back"
          name="search_policy"
          defaultValue={config.search_policy}
          hint="A duration such as 720h. Empty: everything."
        />
      </div>
    </div>
  </Section>
);

/** These settings, from the fields of the form. */
export const eventSettingsOf = (form: FormData): PartialProjectConfig => ({
  ...Object.fromEntries(FLAGS.map(([name]) => [name, form.has(name)])),
  request_id_header: formText(form, 'request_id_header'),
  visible_headers: formList(form, 'visible_headers'),
  envelope: formText(form, 'envelope') === 'standard' ? 'standard' : 'none',
  schema_check: formText(form, 'schema_check') as Config['schema_check'],
  user_agent: formText(form, 'user_agent'),
  webhook_origin: formText(form, 'webhook_origin'),
  search_policy: formText(form, 'search_policy'),
});
