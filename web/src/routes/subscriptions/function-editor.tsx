import { useMutation } from '@tanstack/react-query';
import type { Subscription } from 'posthorn-client';
import { useState } from 'react';
import { editedSubscription } from '../../data/edit/edited-subscription.ts';
import { errorText } from '../../data/explain-error.ts';
import { useProject } from '../../data/project.ts';
import { useAct } from '../../parts/acts.tsx';
import { useSave } from '../../parts/forms/save.ts';
import { Editor } from '../../ui/code/editor.tsx';
import { Button } from '../../ui/controls/button.tsx';
import { Section } from '../../ui/page/section.tsx';
import { functionContract } from './function-contract.ts';
import { Preview } from './preview.tsx';
import { useSample } from './samples.ts';

const EXAMPLE = `function transform(payload) {
  return payload;
}
`;

/** A function changes the payload before it is sent. It is tried on real events before it is saved. */
export function FunctionEditor({ subscription }: { subscription: Subscription }) {
  const { api } = useProject();
  const [initial, setInitial] = useState(subscription.function);
  const [text, setText] = useState(subscription.function);
  const sample = useSample(subscription.endpoint_metadata?.uid ?? '');
  const contract = functionContract(text, sample?.body);
  const preview = useMutation({
    mutationFn: () => api.subscriptions.preview(subscription.uid, { function: text }),
  });
  const save = useSaveFunction(subscription, text);
  if (initial === '')
    return (
      <Section title="Function">
        <p className="mb-2 text-muted">
          A function of this subscription can change each payload before it is sent.
        </p>
        <Button
          icon="plus"
          onClick={() => {
            setInitial(EXAMPLE);
            setText(EXAMPLE);
          }}
        >
          Write a function
        </Button>
      </Section>
    );
  return (
    <Section
      title="Function"
      aside={
        <span className="flex gap-2">
          <Button onClick={() => preview.mutate()} busy={preview.isPending && 'Trying'}>
            Try the function
          </Button>
          <Button
            look="main"
            disabled={text === subscription.function}
            onClick={() => save.mutate()}
            busy={save.isPending && 'Saving'}
          >
            Save function
          </Button>
        </span>
      }
    >
      {subscription.is_portal_function && (
        <p className="mb-2 text-muted">It was last changed through a portal link, so it sees no variables.</p>
      )}
      <Editor
        label="Function"
        language="javascript"
        initial={initial}
        onChange={setText}
        scope={contract.scope}
        names={contract.names}
      />
      {preview.error !== null && (
        <p role="alert" className="mt-2 text-bad">
          {errorText(preview.error)}
        </p>
      )}
      {preview.data !== undefined && <Preview result={preview.data} />}
    </Section>
  );
}

function useSaveFunction(subscription: Subscription, text: string) {
  const { api } = useProject();
  const [stored, setStored] = useState(subscription);
  const changed = useSave();
  return useAct(
    async () => {
      const edit = { first: undefined, changeOf: () => ({ function: text }) };
      const saved = await changed(editedSubscription(api, stored), edit, { function: 'Function' });
      setStored(saved);
      return { saved, before: stored.function };
    },
    () => 'Function saved',
    async ({ saved, before }) => {
      const now = await api.subscriptions.get(subscription.uid);
      return (
        now.function === saved.function && api.subscriptions.update(subscription.uid, { function: before })
      );
    },
  );
}
