import { useQueryClient } from '@tanstack/react-query';
import type { DeliveryAttempt, Endpoint } from 'posthorn-client';
import { useState } from 'react';
import { errorText, fieldProblems } from '../../data/explain-error.ts';
import { useProject } from '../../data/project.ts';
import { AttemptView } from '../../parts/attempt-view.tsx';
import { Button, buttonLook } from '../../ui/controls/button.tsx';
import { Dialog, FormDialog } from '../../ui/controls/dialog.tsx';
import { Check, TextField } from '../../ui/controls/fields.tsx';
import { formText } from '../../ui/controls/form-text.ts';
import { Link } from '../../ui/text/link.tsx';
import { type Delivery, DeliveryFields } from './delivery-fields.tsx';

interface Added {
  endpoint: Endpoint;
  attempt: DeliveryAttempt | null;
  problem: string | null;
}

/** One dialog adds an endpoint with its subscription, sends a test and shows the answer. */
export function AddEndpoint({ onClose }: { onClose(): void }) {
  const { api } = useProject();
  const queries = useQueryClient();
  const [added, setAdded] = useState<Added>();
  const [delivery, setDelivery] = useState<Delivery>('push');
  const isPull = delivery === 'pull';
  const add = async (form: FormData): Promise<never> => {
    const text = (name: string): string => formText(form, name);
    const endpoint = await api.endpoints.create({
      name: text('name') || new URL(text('url')).host,
      delivery,
      ...(text('url') === '' ? {} : { url: text('url') }),
      ...(text('owner_id') === '' ? {} : { owner_id: text('owner_id') }),
    });
    const types = text('types')
      .split(/[\s,]+/)
      .filter((type) => type !== '');
    await api.subscriptions.create({
      name: endpoint.name,
      endpoint_id: endpoint.uid,
      filter_config: { event_types: types.length === 0 ? ['*'] : types },
    });
    const result: Added = { endpoint, attempt: null, problem: null };
    if (form.get('test') !== null)
      await api.endpoints.try({ endpoint_id: endpoint.uid }).then(
        (attempt) => (result.attempt = attempt),
        (error: unknown) => (result.problem = errorText(error)),
      );
    setAdded(result);
    void queries.invalidateQueries();
    // The dialog stays open with the answer of the test.
    return new Promise<never>(() => undefined);
  };
  if (added !== undefined) return <AddedDialog {...added} onClose={onClose} />;
  return (
    <FormDialog
      title="Add endpoint"
      action={isPull ? 'Add endpoint' : 'Add and test'}
      onClose={onClose}
      onSubmit={add}
      explain={errorText}
      problems={fieldProblems}
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
        name="types"
        placeholder="invoice.paid, customer.*"
        hint="Separated by commas. Empty: every type."
      />
      <TextField label="Customer" name="owner_id" hint="The id of the customer that it belongs to, if any." />
      {!isPull && <Check label="Send a test event" name="test" defaultChecked />}
    </FormDialog>
  );
}

/** The answer of the test, and the way to the endpoint. */
function AddedDialog({ endpoint, attempt, problem, onClose }: Added & { onClose(): void }) {
  const { at } = useProject();
  return (
    <Dialog title={`Added ${endpoint.name}`} onClose={onClose} wide>
      <div className="grid gap-4">
        {attempt !== null && <AttemptView attempt={attempt} body="" open />}
        {problem !== null && (
          <p role="alert" className="text-bad">
            The test was not sent: {problem}
          </p>
        )}
        {attempt === null && problem === null && (
          <p>
            It has a subscription and gets events from now on.
            {endpoint.delivery === 'pull' && ' Its page has the command that fetches them.'}
          </p>
        )}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Close</Button>
          <Link href={at(`endpoints/${endpoint.uid}`)} onClick={onClose} className={buttonLook('main')}>
            Open endpoint
          </Link>
        </div>
      </div>
    </Dialog>
  );
}
