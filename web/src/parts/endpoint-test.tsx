import type { Endpoint } from 'posthorn-client';
import { useState } from 'react';
import { exampleOf } from '../data/example.ts';
import { Button } from '../ui/controls/button.tsx';
import { SelectField, TextArea } from '../ui/controls/fields.tsx';
import { Section } from '../ui/page/section.tsx';
import { useAct } from './acts.tsx';
import { AttemptView } from './attempt-view.tsx';
import { useEventTypes } from './event-types.ts';
import { useSite } from './site.ts';
import { useWords } from './words.ts';

interface Wanted {
  /** Empty: that of the sample. */
  type: string;
  body: string;
}

const textOf = (value: unknown): string => JSON.stringify(value, null, 2);
const SAMPLE: Wanted = { type: '', body: textOf({ message: 'This is a test of your endpoint.' }) };

/** Null if the text is JSON. */
function problemOf(text: string): string | null {
  try {
    JSON.parse(text);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** One signed request or message, and its answer. It is not stored or counted. Readers who may choose can give it a body. */
export function EndpointTest({ endpoint, mayChoose }: { endpoint: Endpoint; mayChoose: boolean }) {
  const { test: t } = useWords();
  const { api, test: sendSample } = useSite();
  const [wanted, setWanted] = useState(SAMPLE);
  const problem = problemOf(wanted.body);
  const test = useAct(async ({ type, body }: Wanted) => {
    const data = JSON.parse(body) as unknown;
    const attempt =
      body === SAMPLE.body
        ? await sendSample(endpoint.uid)
        : await api.endpoints.try({
            endpoint_id: endpoint.uid,
            data,
            ...(type === '' ? {} : { event_type: type }),
          });
    return { attempt, sent: JSON.stringify(data) };
  });
  return (
    <Section
      title={t.title}
      aside={
        <Button
          icon="arrow"
          disabled={problem !== null}
          onClick={() => test.mutate(wanted)}
          busy={test.isPending && t.waiting}
        >
          {t.send}
        </Button>
      }
    >
      <div className="grid gap-2">
        <p className="text-muted">{t.text}</p>
        {mayChoose && <Choice {...{ endpoint, wanted, problem }} onChange={setWanted} />}
        {test.data !== undefined && (
          <div className="border-t border-line">
            {test.data.attempt.cb_state !== 'closed' && <p className="py-2">{t.throughBreaker}</p>}
            <AttemptView
              key={test.data.attempt.uid}
              attempt={test.data.attempt}
              outcome={test.data.attempt.outcome}
              body={test.data.sent}
              open
            />
          </div>
        )}
      </div>
    </Section>
  );
}

interface ChoiceProps {
  endpoint: Endpoint;
  wanted: Wanted;
  problem: string | null;
  onChange(wanted: Wanted): void;
}

function Choice({ endpoint, wanted, problem, onChange }: ChoiceProps) {
  const { test: t, endpoints, loading } = useWords();
  const { eventDeliveries } = useSite().api;
  const types = useEventTypes().data ?? [];
  const choose = (type: string) => {
    const schema = types.find(({ name }) => name === type)?.json_schema ?? null;
    onChange(type === '' ? SAMPLE : { type, body: textOf(exampleOf(schema) ?? {}) });
  };
  const last = useAct(
    async () => (await eventDeliveries.list({ endpointId: [endpoint.uid], perPage: 1 }).page()).content[0],
    (delivery) => {
      if (delivery === undefined) return endpoints.noDeliveries;
      onChange({ ...wanted, body: textOf(delivery.metadata.data) });
      return undefined;
    },
  );
  return (
    <>
      {types.length > 0 && (
        <div className="max-w-96">
          <SelectField
            label={t.type}
            value={wanted.type}
            onChange={(event) => choose(event.target.value)}
            choices={[['', t.sample], ...types.map(({ name }) => [name, name] as const)]}
          />
        </div>
      )}
      <details>
        <summary className="link w-fit">{t.bodyOf}</summary>
        <div className="grid gap-2 py-2">
          <TextArea
            label={t.body}
            value={wanted.body}
            onChange={(event) => onChange({ ...wanted, body: event.target.value })}
            error={problem === null ? undefined : `${t.notJson}: ${problem}`}
          />
          <div className="flex flex-wrap gap-2">
            <Button onClick={() => last.mutate()} busy={last.isPending && loading}>
              {t.lastPayload}
            </Button>
            <Button onClick={() => onChange(SAMPLE)}>{t.useSample}</Button>
          </div>
        </div>
      </details>
    </>
  );
}
