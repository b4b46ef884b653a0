import { useQuery } from '@tanstack/react-query';
import type { Endpoint } from 'posthorn-client';
import { useState } from 'react';
import { QueryView } from '../../parts/query-view.tsx';
import { useWords } from '../../parts/words.ts';
import { Button } from '../../ui/controls/button.tsx';
import { EmptyState } from '../../ui/page/states.tsx';
import { useRights } from '../link.ts';
import { AddEndpoint } from './add-endpoint.tsx';
import { EndpointLines } from './endpoint-lines.tsx';
import { failureOf } from './failure.ts';
import { dayQuery, endpointsQuery, failuresQuery } from './queries.ts';

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
            <>
              {mayManage && <div className="mb-3 flex justify-end">{add}</div>}
              <Rows endpoints={all} />
            </>
          )
        }
      </QueryView>
      {adding && <AddEndpoint onClose={() => setAdding(false)} />}
    </>
  );
}

function Rows({ endpoints }: { endpoints: Endpoint[] }) {
  const day = useQuery(dayQuery(endpoints));
  const failures = useQuery(failuresQuery);
  return (
    <EndpointLines
      endpoints={endpoints.map((endpoint) => ({
        endpoint,
        counts: day.data?.get(endpoint.uid),
        failure: failureOf(failures.data, endpoint.uid),
      }))}
    />
  );
}
