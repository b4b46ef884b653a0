import type { Endpoint, UpdateEndpoint } from 'posthorn-client';
import { Check, type Choice, SelectField } from '../../ui/controls/fields.tsx';
import { formText } from '../../ui/controls/form-text.ts';

const CONTENT_TYPES: readonly Choice[] = [
  ['application/json', 'JSON'],
  ['application/x-www-form-urlencoded', 'Form fields'],
];

type ContentType = Required<UpdateEndpoint>['content_type'];
type Requests = Pick<Endpoint, 'content_type' | 'advanced_signatures' | 'signing_key'>;

/** The form of the body and its signatures. */
export function RequestFields({ endpoint }: { endpoint: Requests }) {
  return (
    <details>
      <summary className="link w-fit">Body and signatures</summary>
      <div className="mt-3 grid gap-4 border-l-2 border-line pl-4">
        <SelectField
          label="Body"
          name="content_type"
          defaultValue={endpoint.content_type}
          choices={CONTENT_TYPES}
        />
        <Check
          label="Sign the time too"
          name="advanced_signatures"
          defaultChecked={endpoint.advanced_signatures}
          hint="With it a receiver can refuse an old request that is sent again."
        />
        <Check
          label="Add an Ed25519 signature"
          name="ed25519"
          defaultChecked={endpoint.signing_key !== null}
          hint="Receivers check it with a public key, which the endpoint's page shows. Unticked, the key pair is removed."
        />
      </div>
    </details>
  );
}

/** The settings of requests, from the fields of the form. */
export function requestsOf(form: FormData): Partial<UpdateEndpoint> {
  return {
    content_type: formText(form, 'content_type') as ContentType,
    advanced_signatures: form.has('advanced_signatures'),
    signing_key: { type: form.has('ed25519') ? 'ed25519' : '' },
  };
}
