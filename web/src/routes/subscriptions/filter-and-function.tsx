import type { Subscription } from 'posthorn-client';
import { CodeBlock } from '../../ui/code/code-block.tsx';
import { JsonView } from '../../ui/code/json-view.tsx';
import { Section } from '../../ui/page/section.tsx';
import { conditionsOf, hasFilter } from './filter-text.ts';

/** For readers who may not change them. */
export function FilterAndFunction({ subscription }: { subscription: Subscription }) {
  return (
    <>
      <Section title="Filter">
        {hasFilter(subscription) ? (
          <JsonView value={conditionsOf(subscription)} label="Filter" />
        ) : (
          <p className="text-muted">None: every event of the types matches.</p>
        )}
      </Section>
      <Section title="Function">
        <Code code={subscription.function} />
      </Section>
    </>
  );
}

function Code({ code }: { code: string }) {
  if (code === '') return <p className="text-muted">None: payloads are sent as they come.</p>;
  if (code === '***')
    return <p className="text-muted">A function changes each payload. Your role does not see its code.</p>;
  return <CodeBlock label="Function" text={code} />;
}
