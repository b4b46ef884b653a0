import type { Endpoint } from 'posthorn-client';
import { Fold, TextArea } from '../../ui/controls/fields.tsx';
import { formText } from '../../ui/controls/form-text.ts';

type Pairs = Readonly<Record<string, string>>;

const lines = (pairs: Pairs) =>
  Object.entries(pairs)
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n');

/** The pairs in a field. A line without a colon is a name without a value, which the service refuses or takes. */
export function pairsOf(form: FormData, name: string): Pairs {
  const given = formText(form, name)
    .split('\n')
    .filter((line) => line.trim() !== '');
  return Object.fromEntries(
    given.map((line) => {
      const [, name = '', value = ''] = /^([^:]*):?(.*)$/.exec(line) ?? [];
      return [name.trim(), value.trim()];
    }),
  );
}

/** The headers of every delivery to the endpoint. */
export const HeaderFields = ({ endpoint }: { endpoint: Endpoint }) => (
  <Fold title="Headers" open={Object.keys(endpoint.headers).length > 0}>
    <TextArea
      label="Headers of every delivery"
      name="headers"
      rows={3}
      placeholder="X-Tenant: acme"
      defaultValue={lines(endpoint.headers)}
      hint="One a line. Values are stored encrypted."
    />
  </Fold>
);

/** The texts of the owner of the project. */
export const MetadataField = ({ endpoint }: { endpoint: Endpoint }) => (
  <TextArea
    label="Metadata"
    name="metadata"
    rows={2}
    placeholder="plan: gold"
    defaultValue={lines(endpoint.metadata)}
    hint="One text a line. Your customers do not see it."
  />
);
