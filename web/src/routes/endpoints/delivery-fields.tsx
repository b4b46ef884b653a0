import { SelectField, TextField } from '../../ui/controls/fields.tsx';

export type Delivery = 'push' | 'pull';

interface Props {
  value: Delivery;
  onChange(delivery: Delivery): void;
  url?: string;
}

/** How an endpoint gets its deliveries. One that fetches them needs no address. */
export function DeliveryFields({ value, onChange, url = '' }: Props) {
  const isPull = value === 'pull';
  return (
    <>
      <SelectField
        label="Delivery"
        name="delivery"
        value={value}
        onChange={(event) => onChange(event.target.value as Delivery)}
        choices={[
          ['push', 'Push: Posthorn calls an address'],
          ['pull', 'Pull: a consumer fetches them'],
        ]}
      />
      <TextField
        label="Address"
        name="url"
        type="url"
        required={!isPull}
        defaultValue={url}
        placeholder={isPull ? '' : 'https://example.com/webhooks'}
        hint={isPull ? 'Not called. Leave it empty if there is none.' : undefined}
      />
    </>
  );
}
