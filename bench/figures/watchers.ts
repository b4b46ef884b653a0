import { type ClientRequest, get, type IncomingMessage } from 'node:http';
import type { Figure, Sample } from '../figure.ts';
import { measureDeliveries } from '../measure.ts';
import type { Service } from '../service.ts';
import { LOAD_EVENT, loadedService, subjectOf } from '../subjects.ts';

/**
 * End to end while ten people watch the project, each over a stream of their own, compared with the same service without
 * them in the same round. Every second round begins with the watchers, so that neither side is always the later one.
 */
const WATCHERS = 10;
let rounds = 0;

export const watchers: Figure = {
  name: 'watchers',
  rounds: (plan) => plan.rounds,
  isLong: true,
  run: async (stage) => {
    const service = await loadedService(stage);
    const load = { seconds: stage.plan.seconds, connections: stage.plan.connections, eventType: LOAD_EVENT };
    const measure = () => measureDeliveries(stage, subjectOf(service), load);
    const sides = { without: measure, watched: () => withWatchers(service, measure) };
    const first = rounds++ % 2 === 0 ? 'without' : 'watched';
    const one = await sides[first]();
    const other = await sides[first === 'without' ? 'watched' : 'without']();
    const [without, watched] = first === 'without' ? [one, other] : [other, one];
    const of = (sample: Sample, name: string) => sample[name] as number;
    const both = (name: string) => of(without, name) + of(watched, name);
    return {
      ...watched,
      watchers: WATCHERS,
      without: of(without, 'eventsPerSecond'),
      ratio: of(watched, 'eventsPerSecond') / of(without, 'eventsPerSecond'),
      events: both('events'),
      lost: both('lost'),
      duplicates: both('duplicates'),
    };
  },
};

/** They read what comes and drop it. A stream that the service cuts fails the run: it would cost nothing any more. */
async function withWatchers(service: Service, measure: () => Promise<Sample>): Promise<Sample> {
  const streams = await Promise.all(Array.from({ length: WATCHERS }, () => watch(service)));
  try {
    const sample = await measure();
    const ended = streams.filter(({ response }) => response.readableEnded || response.destroyed).length;
    if (ended > 0) throw new Error(`${ended} of ${WATCHERS} streams ended during the measurement`);
    return sample;
  } finally {
    for (const { request } of streams) request.destroy();
  }
}

function watch(service: Service): Promise<{ request: ClientRequest; response: IncomingMessage }> {
  const { url, project_id: project } = service.credentials;
  return new Promise((resolve, reject) => {
    const request = get(`${url}/api/v1/projects/${project}/stream`, {
      agent: false,
      headers: { authorization: service.authorization, accept: 'text/event-stream' },
    });
    request.once('error', reject);
    request.once('response', (response) => {
      // Ending the request at the end is no failure.
      request.on('error', () => undefined);
      response.on('error', () => undefined);
      response.resume();
      if (response.statusCode === 200) resolve({ request, response });
      else reject(new Error(`the stream answered ${response.statusCode}`));
    });
  });
}
