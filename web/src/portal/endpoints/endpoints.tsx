import { useQuery } from '@tanstack/react-query';
import type { Endpoint } from 'posthorn-client';
import { type ReactNode, useState } from 'react';
import { ProblemView, QueryView } from '../../parts/query-view.tsx';
import { useWords } from '../../parts/words.ts';
import { Button } from '../../ui/controls/button.tsx';
import { EmptyState } from '../../ui/page/states.tsx';
import { useRights } from '../link.ts';
import { AddEndpoint } from './add-endpoint.tsx';
import { EndpointLines } from './endpoint-lines.tsx';
import { isTrouble, useHealth } from './health.ts';
import { HealthSummary } from './health-summary.tsx';
import { endpointsQuery } from './queries.ts';

export function Endpoints() {
  const { endpoints: t } = useWords();
  const { manage: mayManage } = useRights();
  const [adding, setAdding] = useState(false);
  const endpoints = useQuery(endpointsQuery);
  const add = (
    <Button look="main" icon="plus" onClick={() => setAdding(true)}>
      {t.add}
    </Button>
  );
  return (
    <>
      <QueryView query={endpoints}>
        {(all) =>
          all.length === 0 ? (
            <EmptyState title={mayManage ? t.first : t.none} text={mayManage ? t.firstText : t.noneText}>
              {mayManage && add}
            </EmptyState>
          ) : (
            <Shown endpoints={all}>{mayManage && add}</Shown>
          )
        }
      </QueryView>
      {adding && <AddEndpoint onClose={() => setAdding(false)} />}
    </>
  );
}

/** More of them are in the list. */
const MOST_TROUBLED = 5;

/** Endpoints in trouble, the worst first, then the others. Both are from one answer. */
function Shown({ endpoints, children }: { endpoints: Endpoint[]; children: ReactNode }) {
  const { data: all, error, refetch } = useHealth();
  const healthOf = ({ uid }: Endpoint) => all?.of.get(uid);
  const places = new Map([...(all?.of.keys() ?? [])].map((uid, place) => [uid, place]));
  const troubled = endpoints
    .filter((endpoint) => isTrouble(healthOf(endpoint)))
    .toSorted((a, b) => (places.get(a.uid) ?? 0) - (places.get(b.uid) ?? 0));
  const shown = troubled.slice(0, MOST_TROUBLED);
  const others = endpoints.filter((endpoint) => !shown.includes(endpoint));
  return (
    <>
      {all === undefined ? (
        <div className="mb-4 flex justify-end empty:hidden">{children}</div>
      ) : (
        <HealthSummary {...{ endpoints, all }} count={troubled.length} troubled={shown}>
          {children}
        </HealthSummary>
      )}
      {all === undefined && error !== null && <ProblemView error={error} onRetry={() => void refetch()} />}
      {others.length > 0 && (
        <EndpointLines endpoints={others.map((endpoint) => ({ endpoint, health: healthOf(endpoint) }))} />
      )}
    </>
  );
}
