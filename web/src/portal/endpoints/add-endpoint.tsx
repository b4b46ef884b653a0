import { useState } from 'react';
import { AddEndpoint as AddAnyEndpoint } from '../../parts/add-endpoint.tsx';
import { BrokerFields, brokerOf } from '../../parts/brokers/broker-fields.tsx';
import { useWords } from '../../parts/words.ts';
import { SelectField } from '../../ui/controls/fields.tsx';
import { useRights } from '../link.ts';
import { EventTypePicker } from './event-type-picker.tsx';

/** A link that may send tests sends one. One that may use brokers chooses between a URL and a broker. */
export function AddEndpoint({ onClose }: { onClose(): void }) {
  const { endpoints: t } = useWords();
  const { retry: mayTest, useBrokers: mayUseBrokers } = useRights();
  const [delivery, setDelivery] = useState('push');
  const isBroker = delivery === 'broker';
  return (
    <AddAnyEndpoint
      title={t.first}
      action={mayTest ? t.addAndTest : t.add}
      fieldsOf={(form) => (isBroker ? { delivery: 'broker', broker: brokerOf(form) } : {})}
      isTested={() => mayTest}
      isBroker={isBroker}
      before={
        mayUseBrokers && (
          <>
            <SelectField
              label={t.way}
              name="delivery"
              defaultValue={delivery}
              choices={[
                ['push', t.toUrl],
                ['broker', t.toBroker],
              ]}
              onChange={(event) => setDelivery(event.target.value)}
            />
            {isBroker && <BrokerFields />}
          </>
        )
      }
      onClose={onClose}
    >
      <EventTypePicker chosen={[]} />
    </AddAnyEndpoint>
  );
}
