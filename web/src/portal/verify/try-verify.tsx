import type { DeliveryAttempt, Endpoint } from 'posthorn-client';
import { useAct } from '../../parts/acts.tsx';
import { AttemptView } from '../../parts/attempt-view.tsx';
import { useWords } from '../../parts/words.ts';
import { Button } from '../../ui/controls/button.tsx';
import { useLink } from '../link.ts';
import { api } from '../session.ts';

/** Two requests to the endpoint: signed with its secret, and signed with one that it does not know. */
export function TryVerify({ endpoint }: { endpoint: Endpoint }) {
  const { verify: t, test } = useWords();
  const link = useLink();
  const type = link.event_types[0]?.replace(/\.?\*$/, '.test');
  const send = (secret: string | undefined): Promise<DeliveryAttempt> =>
    api.endpoints.try({
      endpoint_id: endpoint.uid,
      ...(type === undefined ? {} : { event_type: type }),
      ...(secret === undefined ? {} : { endpoint: { secret } }),
    });
  const both = useAct(async () => ({
    right: await send(undefined),
    wrong: await send(crypto.randomUUID() + crypto.randomUUID()),
  }));
  const { data } = both;
  return (
    <div className="grid gap-3">
      <div>
        <Button look="main" icon="arrow" onClick={() => both.mutate()} busy={both.isPending && test.waiting}>
          {t.tryAct}
        </Button>
      </div>
      {data !== undefined && (
        <>
          <p
            role="status"
            className={`text-base ${data.right.status && !data.wrong.status ? 'text-ok' : 'text-bad'}`}
          >
            {data.right.status ? (data.wrong.status ? t.bad : t.good) : t.refused}
          </p>
          <h3>{t.right}</h3>
          <AttemptView attempt={data.right} body="" open={false} />
          <h3>{t.wrong}</h3>
          <AttemptView attempt={data.wrong} body="" open={false} />
        </>
      )}
    </div>
  );
}
