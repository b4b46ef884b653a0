import type { CreateEndpoint, Endpoint, TestAttempt } from 'posthorn-client';
import type { ReactNode } from 'react';
import { Button, buttonLook } from '../ui/controls/button.tsx';
import { Dialog } from '../ui/controls/dialog.tsx';
import { formText } from '../ui/controls/form-text.ts';
import { Link } from '../ui/text/link.tsx';
import { ActDialog } from './act-dialog.tsx';
import { AttemptView } from './attempt-view.tsx';
import { pickedTypes } from './event-types.ts';
import { AddressAndName } from './forms/edit-endpoint.tsx';
import { SecretRows } from './secrets.tsx';
import { useSite } from './site.ts';
import { useWords } from './words.ts';

interface Props {
  title: string;
  action: string;
  /** The fields of the endpoint other than its name and address. */
  fieldsOf?(form: FormData): Partial<CreateEndpoint>;
  isTested(form: FormData): boolean;
  isPull?: boolean;
  isBroker?: boolean;
  /** A field before the address, and further ones at the end. */
  before?: ReactNode;
  /** More to say of an endpoint that was not tested. */
  note?: string | undefined;
  onClose(): void;
  children: ReactNode;
}

interface Added {
  endpoint: Endpoint;
  attempt?: TestAttempt;
  /** Why the test was not sent. */
  problem?: string;
}

/** One dialog adds an endpoint with its subscription, sends a test and shows the answer. */
export function AddEndpoint({
  fieldsOf,
  isTested,
  note,
  isPull,
  isBroker,
  before,
  children,
  ...dialog
}: Props) {
  const { api, explain, test } = useSite();
  const add = async (form: FormData) => {
    const url = formText(form, 'url');
    const name = formText(form, 'name') || new URL(url).host;
    const endpoint = await api.endpoints.create({
      name,
      ...(url === '' ? {} : { url }),
      ...fieldsOf?.(form),
      subscriptions: [{ filter_config: { event_types: pickedTypes(form) } }],
    });
    const added: Added = { endpoint };
    if (isTested(form))
      await test(endpoint.uid).then(
        (attempt) => (added.attempt = attempt),
        (error: unknown) => (added.problem = explain(error).text),
      );
    return <AddedDialog {...added} note={note} onClose={dialog.onClose} />;
  };
  return (
    <ActDialog {...dialog} onSubmit={add}>
      {before}
      <AddressAndName isPull={isPull} isBroker={isBroker} />
      {children}
    </ActDialog>
  );
}

/** The answer of the test, and the way to the endpoint. */
function AddedDialog({ endpoint, attempt, problem, note, onClose }: Added & Pick<Props, 'note' | 'onClose'>) {
  const { endpoints: t, secrets, ui } = useWords();
  const { at } = useSite();
  return (
    <Dialog title={t.added(endpoint.name)} onClose={onClose} wide>
      <div className="grid gap-4">
        {attempt !== undefined && <AttemptView attempt={attempt} outcome={attempt.outcome} body="" open />}
        {problem !== undefined && (
          <p role="alert" className="text-bad">
            {t.testNotSent}: {problem}
          </p>
        )}
        {attempt === undefined && problem === undefined && (
          <p>
            {t.addedText} {note}
          </p>
        )}
        {endpoint.secrets.length > 0 && (
          <div className="grid gap-1">
            <h3>{secrets.title}</h3>
            <p className="mb-1 text-muted">{secrets.text}</p>
            <SecretRows endpoint={endpoint} shown />
          </div>
        )}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>{ui.close}</Button>
          <Link href={at(`endpoints/${endpoint.uid}`)} onClick={onClose} className={buttonLook('main')}>
            {t.open}
          </Link>
        </div>
      </div>
    </Dialog>
  );
}
