import { expect, test } from 'vitest';
import { Load } from '../support/load.ts';
import { isAlive, killServer } from '../support/program.ts';
import { arrivals, askingOf, expectNothingLost, type Scene, setScene, subscribeReceiver } from './scene.ts';

/**
 * The program under load, killed without warning. All three run side by side: most of their time is the ten
 * seconds after which the work of a dead node is taken over.
 */
const EVENTS = 1_000;
const KILL_AT = 400;
/** Most requests a node sends to one endpoint at once, and outcomes on their way to the database. */
const IN_FLIGHT = 64 + 2 * 500;

async function loadUntilKilled(
  scene: Scene,
  kill: (program: Awaited<ReturnType<Scene['start']>>) => unknown,
) {
  const program = await scene.start();
  await subscribeReceiver(scene, program);
  const load = new Load([await scene.client(program)], EVENTS);
  await load.reached(KILL_AT);
  await kill(program);
  return { program, load };
}

test.concurrent('node and database killed under load: every accepted event is delivered after a restart', async (context) => {
  const scene = await setScene(context);
  const { load } = await loadUntilKilled(scene, async (program) => {
    program.signal('SIGKILL');
    await killServer(program.databases[0]!.pid);
    await program.kill();
  });
  await load.stop();
  const before = scene.receiver.requests.length;
  expect(load.accepted.size).toBeLessThan(EVENTS);

  const again = await scene.start();
  await expectNothingLost(askingOf(again), load.accepted, scene.receiver);
  const duplicates = [...arrivals(scene.receiver).values()].filter((count) => count > 1).length;
  expect(duplicates).toBeLessThanOrEqual(Math.min(IN_FLIGHT, before));
  expect(Math.max(...arrivals(scene.receiver).values())).toBeLessThanOrEqual(2);
});

test.concurrent('only the node killed under load: the next one ends its database and loses nothing', async (context) => {
  const scene = await setScene(context);
  const { program, load } = await loadUntilKilled(scene, (running) => running.kill());
  await load.stop();
  expect(isAlive(program.databases[0]!.pid)).toBe(true);

  const again = await scene.start();
  expect(isAlive(program.databases[0]!.pid)).toBe(false);
  await expectNothingLost(askingOf(again), load.accepted, scene.receiver);
  expect(Math.max(...arrivals(scene.receiver).values())).toBeLessThanOrEqual(2);
});

test.concurrent('only the database killed under load: the node restarts it and accepts events, each sent once', async (context) => {
  const scene = await setScene(context);
  const { program, load } = await loadUntilKilled(scene, (running) => killServer(running.databases[0]!.pid));
  await load.done;
  expect(load.accepted.size).toBeGreaterThanOrEqual(EVENTS);
  expect(program.isRunning).toBe(true);
  expect(program.databases).toHaveLength(2);
  await expectNothingLost(askingOf(program), load.accepted, scene.receiver);
  // The node lives and keeps its outcomes until they are stored, so nothing is sent twice.
  expect(Math.max(...arrivals(scene.receiver).values())).toBe(1);
});
