import type { Source, UpdateSource } from 'posthorn-client';
import { useClouds } from '../../data/choices.ts';
import { fieldJson } from '../../data/explain-error.ts';
import { sourceForm } from '../../data/form-fields.ts';
import { settingsIn } from '../../parts/brokers/settings.ts';
import { SettingsFields } from '../../parts/brokers/settings-fields.tsx';
import { formValues, ResourceField } from '../../parts/resource-field.tsx';
import { Fold, TextArea, TextField } from '../../ui/controls/fields.tsx';
import { asTyped, formText } from '../../ui/controls/form-text.ts';
import { BROKERS, brokerSource, describedSettings, settingsOf } from './broker-settings.ts';
import { VerifierFields, verifierOf } from './verifier-fields.tsx';

interface Props {
  /** The provider or the kind of broker. Empty: any sender. */
  kind: string;
  source?: Source | undefined;
  /** The reader types where the event type is. */
  onLocation?: ((location: string) => void) | undefined;
}

/** The kind of a source that is stored. */
export const kindOf = ({ type, provider, pub_sub }: Source): string =>
  type === 'schedule'
    ? type
    : type === 'db_change_stream'
      ? 'postgres'
      : type === 'pub_sub'
        ? pub_sub.type
        : provider;

const hasAny = (...values: (string | number | undefined)[]): boolean => values.some(Boolean);

/** The fields of a new source and of one that is stored. */
export function SourceFields({ kind, source, onLocation }: Props) {
  const field = { form: sourceForm, of: source };
  const clouds = useClouds();
  const broker = BROKERS[kind];
  const described = describedSettings(kind, source);
  return (
    <>
      <ResourceField {...field} name="name" required />
      {broker === undefined ? (
        <RequestFields {...{ kind, source, onLocation }} />
      ) : described !== undefined ? (
        <SettingsFields {...described} clouds={clouds} />
      ) : (
        <TextArea
          label="Settings (JSON)"
          name={SETTINGS}
          rows={12}
          required
          defaultValue={JSON.stringify(source === undefined ? broker.settings : settingsOf(source), null, 2)}
          hint="The fields are those of the API."
        />
      )}
      <Fold title="Rate limit" open={hasAny(source?.rate_limit)}>
        <div className="grid gap-4 sm:grid-cols-2">
          <ResourceField {...field} name="rate_limit" hint="0: no rate limit." />
          <ResourceField {...field} name="rate_limit_duration" />
        </div>
      </Fold>
      <Fold title="Functions" open={hasAny(source?.body_function, source?.header_function)}>
        <ResourceField {...field} name="body_function" placeholder={FUNCTION} />
        <ResourceField {...field} name="header_function" placeholder={FUNCTION} />
      </Fold>
    </>
  );
}

/** How requests of a sender are checked, read and answered. */
function RequestFields({ kind, source, onLocation }: Props) {
  const field = { form: sourceForm, of: source };
  const { body, content_type } = source?.custom_response ?? {};
  const isPreset = kind !== '' && source === undefined;
  return (
    <>
      <VerifierFields provider={kind} source={source} />
      <Fold
        title="Event type, idempotency and headers"
        open={hasAny(
          source?.event_type_location,
          source?.idempotency_keys.length,
          source?.forward_headers.length,
        )}
      >
        <ResourceField
          {...field}
          name="event_type_location"
          {...(onLocation && { onValue: onLocation })}
          placeholder="request.body.type"
          hint={isPreset ? 'Empty: where the sender has it.' : 'Empty: the type is the id in the address.'}
        />
        <ResourceField
          {...field}
          name="idempotency_keys"
          placeholder="request.body.id"
          hint="The places that tell events apart. Separated by commas."
        />
        <ResourceField
          {...field}
          name="forward_headers"
          placeholder="X-Request-Id"
          hint="Headers of the sender that each delivery carries. Separated by commas."
        />
        <ResourceField
          form={sourceForm}
          of={source ?? { cloudevents: true }}
          name="cloudevents"
          hint="Their attributes become the event type, the idempotency key and headers."
        />
        <ResourceField
          {...field}
          name="unsigned_cloudevents"
          hint="A signature covers the body alone: the holder of one signed request can then choose type and id."
        />
      </Fold>
      <Fold title="Response to the sender" open={hasAny(body, content_type)}>
        <TextField
          label="Response type"
          name="custom_response.content_type"
          placeholder="text/plain"
          defaultValue={content_type}
        />
        <TextArea label="Response body" name="custom_response.body" rows={3} defaultValue={body} />
      </Fold>
    </>
  );
}

const SETTINGS = 'settings';
const FUNCTION = 'function transform(value) { return value; }';

/** The source, from the fields of the form. */
export function sourceOf(form: FormData, { kind, source }: Props): UpdateSource {
  const { event_type_location: location, cloudevents, ...values } = formValues(sourceForm, form);
  const custom_response = {
    content_type: formText(form, 'custom_response.content_type'),
    body: asTyped(form, 'custom_response.body'),
  };
  const described = describedSettings(kind, source);
  const settings = () =>
    described === undefined
      ? (fieldJson(SETTINGS, formText(form, SETTINGS)) as object)
      : settingsIn(form, described);
  return {
    ...values,
    // A new source of a known sender has its place.
    ...((source !== undefined || location !== '') && { event_type_location: location as string }),
    ...(BROKERS[kind] === undefined
      ? { verifier: verifierOf(form, kind), custom_response, cloudevents: cloudevents as boolean }
      : brokerSource(kind, settings(), source)),
  };
}
