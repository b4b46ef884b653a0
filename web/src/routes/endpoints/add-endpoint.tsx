import { useState } from 'react';
import { AddEndpoint as AddAnyEndpoint } from '../../parts/add-endpoint.tsx';
import { Check, TextField } from '../../ui/controls/fields.tsx';
import { formText } from '../../ui/controls/form-text.ts';
import { type Delivery, DeliveryFields } from './delivery-fields.tsx';

export function AddEndpoint({ onClose }: { onClose(): void }) {
  const [delivery, setDelivery] = useState<Delivery>('push');
  const isPull = delivery === 'pull';
  return (
    <AddAnyEndpoint
      title="Add endpoint"
      action={isPull ? 'Add endpoint' : 'Add and test'}
      fieldsOf={(form) => ({ delivery, owner_id: formText(form, 'owner_id') })}
      isTested={(form) => form.get('test') !== null}
      note={isPull ? 'Its page has the command that fetches them.' : undefined}
      onClose={onClose}
    >
      <DeliveryFields value={delivery} onChange={setDelivery} />
      <TextField
        label="Name"
        name="name"
        required={isPull}
        hint={isPull ? undefined : 'Empty: the host of the address.'}
      />
      <TextField
        label="Event types"
        name="typed"
        placeholder="invoice.paid, customer.*"
        hint="Separated by commas. Empty: every type."
      />
      <TextField label="Customer" name="owner_id" hint="The id of the customer that it belongs to, if any." />
      {!isPull && <Check label="Send a test event" name="test" defaultChecked />}
    </AddAnyEndpoint>
  );
}
