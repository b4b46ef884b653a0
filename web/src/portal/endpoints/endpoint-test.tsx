import { useQuery } from '@tanstack/react-query';
import type { Endpoint } from 'posthorn-client';
import { useState } from 'react';
import { Button } from '../../ui/controls/button.tsx';
import { SelectField, TextArea } from '../../ui/controls/fields.tsx';
import { Section } from '../../ui/page/section.tsx';
import { AttemptView } from '../deliveries/attempt-view.tsx';
import { exampleOf } from '../example.ts';
import { useRights } from '../link.ts';
import { api } from '../session.ts';
import { useAct } from '../use-act.ts';
import { useWords } from '../words.ts';
import { eventTypesQuery } from './queries.ts';

interface Wanted {
  type: string;
  body: string;
}

/** Sends a test event and shows the answer. A link that may manage too can choose the type and the body. */
export function EndpointTest({ endpoint }: { endpoint: Endpoint }) {
  const { test: t } = useWords();
  const { manage: mayManage, retry: mayRetry } = useRights();
  const [wanted, setWanted] = useState<Wanted>({ type: '', body: '' });
  const test = useAct(async () => {
    if (wanted.type === '') return api.endpoints.test(endpoint.uid);
    return api.endpoints.try({
      endpoint_id: endpoint.uid,
      event_type: wanted.type,
      data: JSON.parse(wanted.body),
    });
  });
  if (endpoint.status !== 'active' || !mayRetry) return null;
  return (
    <Section
      title={t.title}
      aside={
        <Button icon="arrow" onClick={() => test.mutate()} busy={test.isPending && t.waiting}>
          {t.send}
        </Button>
      }
    >
      <div className="grid gap-3">
        <p className="text-muted">{t.text}</p>
        {mayManage && <Choice wanted={wanted} onChange={setWanted} />}
        {test.data !== undefined && (
          <div className="border-t border-line">
            <AttemptView key={test.data.uid} attempt={test.data} body={wanted.body} open />
          </div>
        )}
      </div>
    </Section>
  );
}

function Choice({ wanted, onChange }: { wanted: Wanted; onChange(wanted: Wanted): void }) {
  const { test: t } = useWords();
  const types = useQuery(eventTypesQuery);
  const known = types.data ?? [];
  if (known.length === 0) return null;
  const choose = (name: string) => {
    const schema = known.find((type) => type.name === name)?.json_schema ?? null;
    onChange({ type: name, body: name === '' ? '' : JSON.stringify(exampleOf(schema) ?? {}, null, 2) });
  };
  return (
    <>
      <div className="max-w-96">
        <SelectField
          label={t.type}
          value={wanted.type}
          onChange={(event) => choose(event.target.value)}
          choices={[['', t.sample], ...known.map(({ name }) => [name, name] as const)]}
        />
      </div>
      {wanted.type !== '' && (
        <TextArea
          label={t.body}
          value={wanted.body}
          onChange={(event) => onChange({ ...wanted, body: event.target.value })}
        />
      )}
    </>
  );
}
