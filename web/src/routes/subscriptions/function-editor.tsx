import { useMutation } from '@tanstack/react-query';
import type { Subscription } from 'posthorn-client';
import { useState } from 'react';
import { errorText } from '../../data/explain-error.ts';
import { useProject } from '../../data/project.ts';
import { useAct } from '../../parts/acts.tsx';
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
  const before = subscription.function;
  const save = useAct(
    () => api.subscriptions.update(subscription.uid, { function: text }),
    () => 'Function saved',
    async ({ function: saved }) => {
      const now = await api.subscriptions.get(subscription.uid);
      return now.function === saved && api.subscriptions.update(subscription.uid, { function: before });
    },
  );
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
