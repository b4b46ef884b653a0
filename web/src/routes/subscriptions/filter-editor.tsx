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
import { filterKeys } from './filter-keys.ts';
import { conditionsOf, parseConditions } from './filter-text.ts';
import { Preview } from './preview.tsx';
import { useSamples } from './samples.ts';

/** A filter is tried on the last real events before it is saved. */
export function FilterEditor({ subscription }: { subscription: Subscription }) {
  const { api } = useProject();
  const [stored, setStored] = useState(subscription);
  const [initial] = useState(() => JSON.stringify(conditionsOf(subscription), null, 2));
  const [text, setText] = useState(initial);
  const samples = useSamples();
  const changed = useSave();
  const config = (of: Subscription) => ({
    filter_config: { event_types: of.filter_config.event_types, filter: parseConditions(text) },
  });
  const preview = useMutation({
    mutationFn: async () => api.subscriptions.preview(subscription.uid, config(subscription)),
  });
  const save = useAct(
    async () => {
      const edited = editedSubscription(api, stored, 'filter');
      const saved = await changed(
        edited,
        { first: undefined, changeOf: config },
        { filter_config: 'Filter' },
      );
      setStored(saved);
      return { saved, before: stored.filter_config };
    },
    () => 'Filter saved',
    async ({ saved, before }) => {
      const now = await api.subscriptions.get(subscription.uid);
      const isSame = now.updated_at === saved.updated_at;
      return isSame && api.subscriptions.update(subscription.uid, { filter_config: before });
    },
  );
  return (
    <Section
      title="Filter"
      aside={
        <span className="flex gap-2">
          <Button onClick={() => preview.mutate()} busy={preview.isPending && 'Trying'}>
            Try on the last 50 events
          </Button>
          <Button
            look="main"
            disabled={text === initial}
            onClick={() => save.mutate()}
            busy={save.isPending && 'Saving'}
          >
            Save filter
          </Button>
        </span>
      }
    >
      <Editor
        label="Filter"
        language="json"
        initial={initial}
        onChange={setText}
        keys={(path) => filterKeys(path, samples)}
      />
      <p className="mt-1 text-xs text-muted">
        Conditions on <code>body</code>, <code>headers</code>, <code>query</code> and <code>path</code>, such
        as <code>{'{"body": {"amount": {"$gte": 10}}}'}</code>. Empty: every event of the types.
      </p>
      {preview.error !== null && (
        <p role="alert" className="mt-2 text-bad">
          {preview.error instanceof SyntaxError ? preview.error.message : errorText(preview.error)}
        </p>
      )}
      {preview.data !== undefined && <Preview result={preview.data} />}
    </Section>
  );
}
