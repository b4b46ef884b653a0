import { useMutation } from '@tanstack/react-query';
import type { PreviewSubscriptionResult, Subscription } from 'posthorn-client';
import { useState } from 'react';
import { editedSubscription } from '../../data/edit/edited-subscription.ts';
import { EditDialog } from '../../parts/forms/edit-dialog.tsx';
import { useAsOpened } from '../../parts/forms/save.ts';
import { useSite } from '../../parts/site.ts';
import { useWords } from '../../parts/words.ts';
import { JsonView } from '../../ui/code/json-view.tsx';
import { Button } from '../../ui/controls/button.tsx';
import { TextArea } from '../../ui/controls/fields.tsx';
import { api } from '../session.ts';

const START = 'function transform(payload) {\n  return payload;\n}\n';
/** The latest events are searched for one that the subscription matches. */
const TRIED = 20;

type Tried = PreviewSubscriptionResult['events'][number];

/** The server masks the code for links that may not see secrets. */
export const isHidden = (subscription: Subscription): boolean => subscription.function === '***';

/** The function that changes the payload before it is sent, tried on the latest event. */
export function EditFunction({
  subscription: given,
  onClose,
}: {
  subscription: Subscription;
  onClose(): void;
}) {
  const words = useWords();
  const subscription = useAsOpened(given);
  const { functions: t } = words;
  const { explain } = useSite();
  const hidden = isHidden(subscription);
  const [code, setCode] = useState(hidden ? START : subscription.function || START);
  const isStart = code.trim() === START.trim();
  const trial = useMutation({
    mutationFn: async () => {
      const { events } = await api.subscriptions.preview(subscription.uid, { function: code, limit: TRIED });
      return events.find(({ matched }) => matched);
    },
  });
  return (
    <EditDialog
      title={t.title}
      action={t.save}
      onClose={onClose}
      edited={editedSubscription(api, subscription)}
      // Code that is not shown is replaced only by code that was written.
      changeOf={() => (hidden && isStart ? {} : { function: isStart ? '' : code })}
      labels={{ function: t.code }}
      wide
    >
      {hidden && <p>{t.hidden}</p>}
      <TextArea
        label={t.code}
        hint={hidden ? undefined : t.text}
        rows={12}
        value={code}
        onChange={(event) => setCode(event.target.value)}
      />
      <div>
        <Button icon="play" onClick={() => trial.mutate()} busy={trial.isPending && words.ui.working}>
          {t.tryAct}
        </Button>
      </div>
      {trial.error !== null && (
        <p role="alert" className="text-bad">
          {explain(trial.error).text}
        </p>
      )}
      {trial.isSuccess && <Result tried={trial.data} />}
    </EditDialog>
  );
}

function Result({ tried }: { tried: Tried | undefined }) {
  const { functions: t } = useWords();
  if (tried === undefined) return <p className="text-muted">{t.noEvent}</p>;
  if (tried.function_error !== null)
    return (
      <p role="alert" className="text-bad">
        {tried.function_error}
      </p>
    );
  if (tried.cancelled !== null)
    return (
      <p role="status" className="text-muted">
        {tried.cancelled}
      </p>
    );
  return (
    <div role="status" className="grid gap-3 sm:grid-cols-2">
      <div className="min-w-0">
        <h3 className="mb-1 text-xs text-muted">{t.before}</h3>
        <JsonView value={tried.before} label={t.before} />
      </div>
      <div className="min-w-0">
        <h3 className="mb-1 text-xs text-muted">{t.after}</h3>
        <JsonView value={tried.after} label={t.after} />
        {tried.request !== null && <JsonView value={tried.request} label={t.after} />}
      </div>
    </div>
  );
}
