import { useQueryClient } from '@tanstack/react-query';
import type { DeliveryAttempt, Endpoint } from 'posthorn-client';
import { useState } from 'react';
import { errorText } from '../../data/explain-error.ts';
import { useProject } from '../../data/project.ts';
import { AttemptView } from '../../parts/attempt-view.tsx';
import { Button, buttonLook } from '../../ui/controls/button.tsx';
import { Dialog, FormDialog } from '../../ui/controls/dialog.tsx';
import { Check, TextField } from '../../ui/controls/fields.tsx';
import { formText } from '../../ui/controls/form-text.ts';
import { Link } from '../../ui/text/link.tsx';

interface Added {
  endpoint: Endpoint;
  attempt: DeliveryAttempt | null;
  problem: string | null;
}

/** One dialog adds an endpoint with its subscription, sends a test and shows the answer. */
export function AddEndpoint({ onClose }: { onClose(): void }) {
  const { api, at } = useProject();
  const queries = useQueryClient();
  const [added, setAdded] = useState<Added>();
  const add = async (form: FormData): Promise<never> => {
    const text = (name: string): string => formText(form, name);
    const endpoint = await api.endpoints.create({
      name: text('name') || new URL(text('url')).host,
      url: text('url'),
      ...(text('customer') === '' ? {} : { owner_id: text('customer') }),
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
  if (added !== undefined)
    return (
      <Dialog title={`Added ${added.endpoint.name}`} onClose={onClose} wide>
        <div className="grid gap-4">
          {added.attempt !== null && <AttemptView attempt={added.attempt} body="" open />}
          {added.problem !== null && (
            <p role="alert" className="text-bad">
              The test was not sent: {added.problem}
            </p>
          )}
          {added.attempt === null && added.problem === null && (
            <p>It has a subscription and receives events from now on.</p>
          )}
          <div className="flex justify-end gap-2">
            <Button onClick={onClose}>Close</Button>
            <Link
              href={at(`endpoints/${added.endpoint.uid}`)}
              onClick={onClose}
              className={buttonLook('main')}
            >
              Open endpoint
            </Link>
          </div>
        </div>
      </Dialog>
    );
  return (
    <FormDialog
      title="Add endpoint"
      action="Add and test"
      onClose={onClose}
      onSubmit={add}
      explain={errorText}
    >
      <TextField label="Address" name="url" type="url" required placeholder="https://example.com/webhooks" />
      <TextField label="Name" name="name" hint="Empty: the host of the address." />
      <TextField
        label="Event types"
        name="types"
        placeholder="invoice.paid, customer.*"
        hint="Separated by commas. Empty: every type."
      />
      <TextField label="Customer" name="customer" hint="The id of the customer that it belongs to, if any." />
      <Check label="Send a test event" name="test" defaultChecked />
    </FormDialog>
  );
}
