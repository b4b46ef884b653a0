import type { Endpoint, UpdateEndpoint } from 'posthorn-client';
import { TextField } from '../../ui/controls/fields.tsx';
import { asTyped, formText } from '../../ui/controls/form-text.ts';
import { useWords } from '../words.ts';

/** Inputs are named as the API names the fields, so that its errors find them. */
const NAME = 'authentication.api_key.header_name';
const VALUE = 'authentication.api_key.header_value';

interface Props {
  stored: NonNullable<Endpoint['authentication']>['api_key'];
  required?: boolean;
  hint?: string;
}

/** A header with a key that every request carries. */
export function HeaderKeyFields({ stored, required = false, hint }: Props) {
  const { endpoints: t } = useWords();
  return (
    <div className="grid gap-4 sm:grid-cols-2">
      <TextField
        label={t.headerName}
        name={NAME}
        placeholder="X-Api-Key"
        {...{ required, hint }}
        defaultValue={stored?.header_name ?? (required ? 'X-Api-Key' : '')}
      />
      <TextField
        label={t.headerValue}
        name={VALUE}
        type="password"
        autoComplete="off"
        required={required}
        defaultValue={stored?.header_value}
      />
    </div>
  );
}

/** The sign-in by a header, from the fields of the form: none without its name. */
export function headerKeyOf(form: FormData): Required<Pick<UpdateEndpoint, 'authentication'>> {
  const header_name = formText(form, NAME);
  if (header_name === '') return { authentication: {} };
  return {
    authentication: { type: 'api_key', api_key: { header_name, header_value: asTyped(form, VALUE) } },
  };
}
