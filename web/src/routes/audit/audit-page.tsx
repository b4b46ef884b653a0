import type { AuditEntry } from 'posthorn-client';
import { RowPage } from '../../dashboard/lists/row-page.tsx';
import { DiffView } from '../../ui/code/diff-view.tsx';
import { PageHead, Section } from '../../ui/page/section.tsx';
import { EmptyState } from '../../ui/page/states.tsx';
import { Facts } from '../../ui/tables/facts.tsx';
import { Id } from '../../ui/text/id.tsx';
import { Time } from '../../ui/text/time.tsx';

/**
 * One entry: who did what, and each field before and after. The log has no call for one entry. Its ids are in the order of
 * time, so the entry is near the cursor of its id.
 */
export const AuditPage = () => (
  <RowPage list="audit" title="Audit log" noun="entry" load={({ audit }, id) => findEntry(audit.list(), id)}>
    {(entry) =>
      entry === null ? (
        <EmptyState title="Not found" text="The entry may be older than the audit log keeps." />
      ) : (
        <View entry={entry} />
      )
    }
  </RowPage>
);

const MAX_PAGES = 20;

async function findEntry(
  list: { pages(): AsyncGenerator<{ content: AuditEntry[] }> },
  id: string,
): Promise<AuditEntry | null> {
  let pages = 0;
  for await (const { content } of list.pages()) {
    const found = content.find(({ uid }) => uid === id);
    if (found !== undefined) return found;
    if (++pages >= MAX_PAGES) return null;
  }
  return null;
}

function View({ entry }: { entry: AuditEntry }) {
  return (
    <>
      <PageHead title={entry.action} />
      <Facts
        items={[
          ['When', <Time key="" at={entry.created_at} />],
          [
            'Who',
            <>
              {entry.actor.type.replaceAll('_', ' ')}{' '}
              <Id value={entry.actor.uid ?? ''} what="id of the actor" />
            </>,
          ],
          ['On', <Id key="" value={entry.resource.uid ?? ''} what={`id of the ${entry.resource.type}`} />],
        ]}
      />
      <Section title="What changed">
        <DiffView before={entry.before ?? {}} after={entry.after ?? {}} />
      </Section>
    </>
  );
}
