import type { Source } from 'posthorn-client';
import { useState } from 'react';
import { DayNumbers } from '../../dashboard/day-numbers.tsx';
import { LatestEvents } from '../../dashboard/event-lines.tsx';
import { RowPage } from '../../dashboard/lists/row-page.tsx';
import { May } from '../../dashboard/may.tsx';
import { useProject } from '../../data/project.ts';
import { DangerDialog } from '../../parts/act-dialog.tsx';
import { ActButton } from '../../parts/acts.tsx';
import { CodeBlock } from '../../ui/code/code-block.tsx';
import { Button } from '../../ui/controls/button.tsx';
import { PageHead, Section } from '../../ui/page/section.tsx';
import { Facts } from '../../ui/tables/facts.tsx';
import { Id } from '../../ui/text/id.tsx';
import { count } from '../../ui/text/numbers.ts';
import { Time } from '../../ui/text/time.tsx';
import { AnyOriginWarning } from './any-origin.tsx';
import { EditSource } from './source-dialogs.tsx';
import { kindOf } from './source-form.tsx';
import { SOURCE_KINDS, SourceBadge } from './source-state.tsx';

export const SourcePage = () => (
  <RowPage
    list="sources"
    title="Sources"
    noun="source"
    load={({ sources }, id) => sources.get(id)}
    everyMs={() => 3000}
  >
    {(source) => <View source={source} />}
  </RowPage>
);

function View({ source }: { source: Source }) {
  const isWeb = source.type === 'http' || source.type === 'rest_api';
  return (
    <>
      <PageHead title={source.name} beside={<SourceBadge source={source} />}>
        <May use="updateSource">
          <Acts source={source} isWeb={isWeb} />
        </May>
      </PageHead>
      <AnyOriginWarning kind={kindOf(source)} location={source.event_type_location} isStored />
      <Facts
        items={[
          ['Kind', source.provider || source.pub_sub.type || SOURCE_KINDS[source.type]],
          ['Verification', isWeb ? checkText(source.verifier.type) : undefined],
          ['Event type from', source.event_type_location || 'the ID of the source'],
          ['Idempotency', source.idempotency_keys.join(', ')],
          ['Forwarded headers', source.forward_headers.join(', ')],
          [
            'Rate limit',
            source.rate_limit === 0
              ? 'none'
              : `${source.rate_limit} events in ${source.rate_limit_duration} s`,
          ],
          ['Lag', source.status === null ? undefined : `${count(source.status.lag)} messages`],
          [
            'Last message',
            source.status === null ? undefined : (
              <Time key="" at={source.status.last_message_at} none="none yet" />
            ),
          ],
          ['Last error', source.status === null ? undefined : source.status.last_error || 'none'],
          ['ID', <Id key="" value={source.uid} what="source id" />],
        ]}
      />
      {isWeb && (
        <Section title="Ingest URL">
          <div className="grid grid-cols-[minmax(0,1fr)] gap-2">
            <CodeBlock label="URL" text={source.url} />
            <p className="text-muted">A request to try it. A source that checks a signature refuses it.</p>
            <CodeBlock
              label="Command"
              text={`curl -i ${source.url} -H 'Content-Type: application/json' -d '{"hello": "world"}'`}
            />
          </div>
        </Section>
      )}
      <DayNumbers
        of={{ sourceId: [source.uid] }}
        accepted="events"
        list="events"
        filter={{ source: source.uid }}
      />
      <LatestEvents
        title="Last events"
        query={{ sourceId: [source.uid], perPage: 10 }}
        filters={{ source: source.uid }}
        none="Nothing has come in yet."
      />
    </>
  );
}

function Acts({ source, isWeb }: { source: Source; isWeb: boolean }) {
  const { api, at } = useProject();
  const [open, setOpen] = useState<'edit' | 'delete'>();
  const close = () => setOpen(undefined);
  return (
    <>
      {!isWeb && (
        <ActButton
          act={() => api.sources.testConnection(source.uid)}
          done={({ ok, reason }) => (ok ? 'The broker answers' : reason)}
          busy="Connecting"
        >
          Test connection
        </ActButton>
      )}
      <OnOff source={source} />
      <Button onClick={() => setOpen('edit')}>Edit…</Button>
      <Button look="danger" onClick={() => setOpen('delete')}>
        Delete…
      </Button>
      {open === 'edit' && <EditSource source={source} onClose={close} />}
      {open === 'delete' && (
        <DangerDialog
          what={`Delete ${source.name}`}
          act={() => api.sources.delete(source.uid)}
          leadsTo={at('sources')}
          onClose={close}
        >
          Requests to its URL are refused from now on. Its subscriptions are deleted too.
        </DangerDialog>
      )}
    </>
  );
}

function OnOff({ source: { uid, is_disabled: isDisabled } }: { source: Source }) {
  const { sources } = useProject().api;
  return (
    <ActButton
      icon={isDisabled ? 'play' : 'pause'}
      act={() => sources.update(uid, { is_disabled: !isDisabled })}
      done={({ is_disabled }) => (is_disabled ? 'Disabled: it refuses every request' : 'Enabled')}
      undo={({ is_disabled }) => sources.update(uid, { is_disabled: !is_disabled })}
    >
      {isDisabled ? 'Enable' : 'Disable'}
    </ActButton>
  );
}

const checkText = (type: string): string => (type === 'noop' ? 'none' : type.replaceAll('_', ' '));
