import type { Endpoint } from 'posthorn-client';
import { useState } from 'react';
import { useClouds } from '../../data/choices.ts';
import { AddEndpoint as AddAnyEndpoint } from '../../parts/add-endpoint.tsx';
import { BrokerFields, brokerOf } from '../../parts/brokers/broker-fields.tsx';
import { Check, TextField } from '../../ui/controls/fields.tsx';
import { formText } from '../../ui/controls/form-text.ts';
import { DeliveryField } from './edit-endpoint.tsx';

export function AddEndpoint({ onClose }: { onClose(): void }) {
  const [delivery, setDelivery] = useState<Endpoint['delivery']>('push');
  const clouds = useClouds();
  const isPull = delivery === 'pull';
  const isBroker = delivery === 'broker';
  return (
    <AddAnyEndpoint
      title="Add endpoint"
      action={isPull ? 'Add endpoint' : 'Add and test'}
      fieldsOf={(form) => ({
        delivery,
        owner_id: formText(form, 'owner_id'),
        ...(isBroker && { broker: brokerOf(form) }),
      })}
      isTested={(form) => form.get('test') !== null}
      note={isPull ? 'Its page has the command that fetches them.' : undefined}
      isPull={isPull}
      isBroker={isBroker}
      before={
        <>
          <DeliveryField of={{ delivery: 'push' }} onDelivery={setDelivery} />
          {isBroker && <BrokerFields clouds={clouds} />}
        </>
      }
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
