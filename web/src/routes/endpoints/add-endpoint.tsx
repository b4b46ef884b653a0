import { useState } from 'react';
import { AddEndpoint as AddAnyEndpoint } from '../../parts/add-endpoint.tsx';
import { Check, TextField } from '../../ui/controls/fields.tsx';
import { formText } from '../../ui/controls/form-text.ts';
import { DeliveryField } from './edit-endpoint.tsx';

export function AddEndpoint({ onClose }: { onClose(): void }) {
  const [isPull, setPull] = useState(false);
  return (
    <AddAnyEndpoint
      title="Add endpoint"
      action={isPull ? 'Add endpoint' : 'Add and test'}
      fieldsOf={(form) => ({ delivery: isPull ? 'pull' : 'push', owner_id: formText(form, 'owner_id') })}
      isTested={(form) => form.get('test') !== null}
      note={isPull ? 'Its page has the command that fetches them.' : undefined}
      isPull={isPull}
      before={<DeliveryField of={{ delivery: 'push' }} onPull={setPull} />}
      onClose={onClose}
    >
      <TextField
        label="Event types"
        name="typed"
        placeholder="invoice.paid, customer.*"
        hint="Optional. Separated by commas. Defaults to every type."
      />
      <TextField
        label="Customer"
        name="owner_id"
        hint="Optional. The ID of the customer that it belongs to."
      />
      {!isPull && <Check label="Send a test event" name="test" defaultChecked />}
    </AddAnyEndpoint>
  );
}
