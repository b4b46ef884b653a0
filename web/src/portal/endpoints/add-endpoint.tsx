import { useQueryClient } from '@tanstack/react-query';
import type { DeliveryAttempt, Endpoint } from 'posthorn-client';
import { useState } from 'react';
import { Button } from '../../ui/controls/button.tsx';
import { Dialog, FormDialog } from '../../ui/controls/dialog.tsx';
import { TextField } from '../../ui/controls/fields.tsx';
import { formText } from '../../ui/controls/form-text.ts';
import { goTo, placeOf } from '../address.ts';
import { AttemptView } from '../deliveries/attempt-view.tsx';
import { useRights } from '../link.ts';
import { explain } from '../query-view.tsx';
import { api } from '../session.ts';
import { useWords } from '../words.ts';
import { EventTypePicker, pickedTypes } from './event-type-picker.tsx';

interface Added {
  endpoint: Endpoint;
  attempt: DeliveryAttempt | null;
  problem: string;
}

/** One dialog adds an endpoint, says what it receives, sends a test if the link may, and shows the answer. */
export function AddEndpoint({ onClose }: { onClose(): void }) {
  const words = useWords();
  const { endpoints: t } = words;
  const { retry: mayRetry } = useRights();
  const queries = useQueryClient();
  const [added, setAdded] = useState<Added>();
  const add = async (form: FormData): Promise<never> => {
    const url = formText(form, 'url');
    const endpoint = await api.endpoints.create({ name: formText(form, 'name') || new URL(url).host, url });
    await api.subscriptions.create({
      name: endpoint.name,
      endpoint_id: endpoint.uid,
      filter_config: { event_types: pickedTypes(form) },
    });
    const result: Added = { endpoint, attempt: null, problem: '' };
    if (mayRetry)
      await api.endpoints.test(endpoint.uid).then(
        (attempt) => (result.attempt = attempt),
        (error: unknown) => (result.problem = explain(words, error).text),
      );
    setAdded(result);
    void queries.invalidateQueries();
    // The dialog stays open with the answer of the test.
    return new Promise<never>(() => undefined);
  };
  if (added !== undefined)
    return (
      <Dialog title={t.added(added.endpoint.name)} onClose={onClose} wide>
        <div className="grid gap-4">
          {added.attempt !== null && <AttemptView attempt={added.attempt} body="" open />}
          {added.problem !== '' && (
            <p role="alert" className="text-bad">
              {added.problem}
            </p>
          )}
          <div className="flex justify-end">
            <Button
              look="main"
              onClick={() => {
                onClose();
                goTo(placeOf('endpoints', added.endpoint.uid));
              }}
            >
              {words.ui.close}
            </Button>
          </div>
        </div>
      </Dialog>
    );
  return (
    <FormDialog
      title={t.first}
      action={mayRetry ? t.addAndTest : t.add}
      onClose={onClose}
      onSubmit={add}
      explain={(error) => explain(words, error).text}
    >
      <TextField
        label={t.address}
        name="url"
        type="url"
        required
        placeholder="https://example.com/webhooks"
        hint={t.addressHint}
      />
      <TextField label={t.nameLabel} name="name" hint={t.nameHint} />
      <EventTypePicker chosen={[]} />
    </FormDialog>
  );
}
