import { expect, test } from 'vitest';
import { startTestApp, subscribe } from '../support/app.ts';
import { Receiver } from '../support/servers/receiver.ts';
import { shared } from '../support/shared.ts';

/** The engine delivers before the start is over. A start that fails then ends as a stop does. */
const app = await shared(startTestApp({ POSTHORN_ROLES: 'api' }));
const receiver = await shared(Receiver.start());
const LOCK = 4711;

/** The node that registers second fails as soon as the lock is free. */
const FAIL_SECOND_NODE = `
  create function refuse() returns trigger language plpgsql as $$
  begin
    if (select count(*) from nodes) > 1 then
      perform pg_advisory_xact_lock_shared(${LOCK});
      raise exception 'the start is refused';
    end if;
    return new;
  end $$;
  create trigger refuse before insert on secret_keys for each row execute function refuse()`;

test('a request that is under way when the start fails is recorded, and nothing stays leased', async () => {
  await subscribe(app.project, receiver.url);
  await app.project.post('/events/broadcast', { event_type: 'a', data: {} });
  await app.database.query(FAIL_SECOND_NODE);
  await app.database.query(`select pg_advisory_lock(${LOCK})`);
  let answer = () => {};
  receiver.answerAlways((_request, response) => {
    answer = () => response.writeHead(200).end();
  });
  const failed = app.addNode({ POSTHORN_ROLES: 'deliver' }).then(
    () => 'started',
    (error: Error) => error.message,
  );
  await receiver.received(1);
  await app.database.query(`select pg_advisory_unlock(${LOCK})`);
  setTimeout(() => answer(), 200);
  expect(await failed).toBe('the start is refused');
  expect(await app.database.query('select delivery_id from delivery_queue')).toEqual([]);
  const [delivery] = (await app.project.get('/eventdeliveries')).content;
  expect(delivery).toMatchObject({ status: 'Success', metadata: { num_trials: 1 } });
  expect(await app.database.query('select count(*)::int as nodes from nodes')).toEqual([{ nodes: 1 }]);
});
