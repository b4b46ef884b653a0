import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useWords } from '../../parts/words.ts';
import { CodeBlock } from '../../ui/code/code-block.tsx';
import { SelectField } from '../../ui/controls/fields.tsx';
import { Section } from '../../ui/page/section.tsx';
import { at } from '../address.ts';
import { endpointsQuery } from '../endpoints/queries.ts';
import { useRights } from '../link.ts';
import { samples } from './samples.ts';
import { TryVerify } from './try-verify.tsx';

/** Code that checks signatures, tried against the reader's own endpoint. */
export function Verify({ chosen }: { chosen: string | undefined }) {
  const { verify: t } = useWords();
  const { manage: mayManage } = useRights();
  const endpoints = useQuery(endpointsQuery);
  const [language, setLanguage] = useState(samples[0]?.language ?? '');
  // A broker takes any message, and a consumer is not called.
  const active = (endpoints.data ?? []).filter(
    ({ status, delivery }) => status === 'active' && delivery === 'push',
  );
  const endpoint = active.find(({ uid }) => uid === chosen) ?? active[0];
  return (
    <>
      <p className="mb-4 max-w-[75ch] text-base">{t.text}</p>
      <div className="mb-3 max-w-60">
        <SelectField
          label={t.language}
          value={language}
          onChange={(event) => setLanguage(event.target.value)}
          choices={samples.map((sample) => [sample.language, sample.language] as const)}
        />
      </div>
      <CodeBlock label={t.code} text={samples.find((one) => one.language === language)?.code ?? ''} tall />
      <p className="mt-2 text-muted">{t.note}</p>
      {mayManage && endpoint !== undefined && (
        <Section title={t.tryTitle}>
          <p className="mb-3 text-muted">{t.tryText}</p>
          <div className="mb-3 max-w-96">
            <SelectField
              label={t.endpoint}
              value={endpoint.uid}
              onChange={(event) => (location.hash = at(`verify/${event.target.value}`))}
              choices={active.map(({ uid, name }) => [uid, name] as const)}
            />
          </div>
          <TryVerify key={endpoint.uid} endpoint={endpoint} />
        </Section>
      )}
    </>
  );
}
