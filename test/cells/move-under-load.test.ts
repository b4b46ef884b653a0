import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { moveProject, runMove, startMove } from '../../src/cells/move/move-project.ts';
import type { MoveDeps } from '../../src/cells/move/mover.ts';
import { subscribe } from '../support/app.ts';
import type { ApiClient, Json } from '../support/client.ts';
import { atLeast, eventually } from '../support/eventually.ts';
import { Receiver } from '../support/servers/receiver.ts';
import { shared } from '../support/shared.ts';
import { startTwoCells } from './service.ts';

const cells = await shared(startTwoCells());
const receiver = await shared(Receiver.start());

/** Calls that go on while their project moves. A refused one is made again. */
class Load {
  readonly accepted: string[] = [];
  refused = 0;
  #isOver = false;
  readonly #running: Promise<void>;

  constructor(project: ApiClient) {
    this.#running = this.#run(project);
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await this.#running;
  }

  async #run(project: ApiClient): Promise<void> {
    for (let n = 0; !this.#isOver; n += 1) {
      const response = await project.raw('POST', '/events/broadcast', {
        body: { event_type: 'now', data: { n } },
      });
      const answer = (await response.json()) as Json;
      if (response.status === 201) this.accepted.push(answer.data.uid);
      else {
        expect([response.status, answer.code]).toEqual([503, 'project_moving']);
        this.refused += 1;
        await pause(50);
      }
    }
  }
}

const source = cells.home.database.open();
const target = cells.second.open();
const deps = (from: 1 | 2): MoveDeps => ({
  source: from === 1 ? source : target,
  target: from === 1 ? target : source,
  owner: `mover ${from}`,
});
const between = (project: ApiClient, from: 1 | 2) => ({
  projectId: project.projectId,
  fromCell: from,
  toCell: 3 - from,
});

test('a project moves there and back under load, through one node: nothing is lost and lists keep their order', async () => {
  const project = await cells.projectIn('1');
  await subscribe(project, `${receiver.url}/load`);
  const load = new Load(project);
  for (const from of [1, 2, 1] as const) {
    await pause(300);
    await moveProject(deps(from), between(project, from));
  }
  await load.end();
  await eventually(
    () => new Set(receiver.at('/load').map(({ json }) => json.n)).size,
    atLeast(load.accepted.length),
  );
  const listed: string[] = [];
  for (let path = '/events?perPage=100'; path !== ''; ) {
    const { content, pagination } = await project.get(path);
    listed.push(...content.map(({ uid }: Json) => uid));
    path = pagination.has_next_page
      ? `/events?perPage=100&next_page_cursor=${pagination.next_page_cursor}`
      : '';
  }
  expect(listed.toReversed()).toEqual(load.accepted);
  const { content } = await project.get('/eventdeliveries?perPage=1000&status=Success');
  expect(content.length).toBe(load.accepted.length);
  expect(
    await cells.second.query('select cell_state from projects where id = $1', [project.projectId]),
  ).toEqual([{ cell_state: null }]);
});

test('a mover that is killed while the project is closed: a node settles the move, and the project is open again', async () => {
  const project = await cells.projectIn('1');
  await subscribe(project, `${receiver.url}/settled`);
  const mover = {
    ...deps(1),
    onStep: (step: string) => {
      if (step === 'closed') throw new Error('killed');
    },
  };
  const move = await startMove(mover, between(project, 1));
  await expect(runMove(mover, move)).rejects.toThrow('killed');
  await project.get('/endpoints', 503);
  await eventually(() => project.raw('GET', '/endpoints'), { status: 200 });
  await project.post('/events/broadcast', { event_type: 'now', data: {} });
  await receiver.received(1, '/settled');
});
