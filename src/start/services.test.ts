import { expect, test } from 'vitest';
import { quietLog } from '../../test/support/quiet-log.ts';
import { type Service, Services } from './services.ts';

/** Services that write down what happens to them. `fails` says when one throws. */
function scene(names: string[], fails: (event: string) => boolean = () => false) {
  const events: string[] = [];
  const happens = async (event: string) => {
    events.push(`${event}...`);
    await new Promise((resolve) => setImmediate(resolve));
    if (fails(event)) throw new Error(event);
    events.push(event);
  };
  const services = names.map((name): Service => {
    const stop = () => happens(`stop ${name}`);
    return name.startsWith('made') ? { name, stop } : { name, start: () => happens(`start ${name}`), stop };
  });
  return { events, node: new Services(services, { log: quietLog, graceMs: 1_000 }) };
}

const begun = (events: string[]) =>
  events.filter((event) => event.endsWith('...')).map((e) => e.slice(0, -3));

test('services start one after the other and stop in the reverse, each once', async () => {
  const { events, node } = scene(['made', 'one', 'two']);
  await node.start();
  await Promise.all([node.stop(), node.stop()]);
  await node.stop();
  expect(begun(events)).toEqual(['start one', 'start two', 'stop two', 'stop one', 'stop made']);
  // One at a time: what began has ended before the next begins.
  expect(events.filter((_, n) => n % 2 === 0)).toEqual(begun(events).map((event) => `${event}...`));
});

test('a start that fails stops what runs, itself included, and nothing above it', async () => {
  const { events, node } = scene(['made', 'one', 'two', 'three'], (event) => event === 'start two');
  await expect(node.start()).rejects.toThrow('start two');
  expect(begun(events)).toEqual(['start one', 'start two', 'stop two', 'stop one', 'stop made']);
});

test('a service that fails to stop keeps no other one running, and the stop says so', async () => {
  const { events, node } = scene(['made', 'one', 'two'], (event) => event === 'stop two');
  await node.start();
  await expect(node.stop()).rejects.toThrow('stop two');
  expect(begun(events).slice(2)).toEqual(['stop two', 'stop one', 'stop made']);
});
